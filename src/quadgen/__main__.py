"""`python -m quadgen` is `quadgen`."""

from quadgen.cli import main

if __name__ == "__main__":
    main()
