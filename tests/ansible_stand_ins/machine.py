"""A host's systemd and Podman for tests where none run: what they are told is written down, and units have states.

`$QUADGEN_STAND_INS` is the directory of the machine. The host's file system is what its file `root` names, or else
the directory `root` beside it. In the machine's directory are, each made when it is needed:

- `calls`: every call, a JSON object a line: program, words, user (None: not of a user's manager), home, runtime.
- `units.json`: by manager, what is loaded and what runs. Files are read at the first call and at `daemon-reload`.
- `images.json`: by user, the images that are there.

And what tests write:

- `rules.json`: a list of `{"match": text, "how": word}`. The first whose text is in a unit, or is its name, says how
  its start goes: `exits`, `loops`, `hangs` (activating until it is stopped), `unwell` (active, but /health answers
  503), `asserts`, `refused` (systemctl start fails), `stubborn` (it does not stop).
- `answers.json`: a list of `{"words": [program, word, ...], "stdout": text, "stderr": text, "status": number}`: what a
  call that begins with these words is answered, whatever it asks.
- `registry.json`: a list of texts; an image that has one of them cannot be pulled.
- `names.json`: what `podman secret ls` and `podman network ls` print, by `secret` and `network`.

Nothing here waits: a unit that becomes healthy is so at once. A service with a port really serves /health there.
The words that are printed are those of systemd 257 and Podman 5.4.
"""

import fcntl
import json
import os
import pwd
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class Machine:
    """What the stand-ins know, while one of them holds it."""

    def __init__(self, place: Path) -> None:
        self.place = place
        named = place / "root"
        self.root = Path(named.read_text(encoding="utf-8").strip()) if named.is_file() else place.parent / "root"

    def read(self, name: str, default: Any) -> Any:
        """What is in one of its files."""
        try:
            return json.loads((self.place / f"{name}.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return default

    def write(self, name: str, value: Any) -> None:
        """Keep something; users share it."""
        aside = self.place / f".{name}"
        aside.write_text(json.dumps(value, indent=1), encoding="utf-8")
        aside.chmod(0o666)
        aside.rename(self.place / f"{name}.json")

    def log(self, entry: dict[str, Any]) -> None:
        """Write a call down."""
        path = self.place / "calls"
        new = not path.exists()
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
        if new:
            path.chmod(0o666)

    def answer(self, words: list[str]) -> dict[str, Any] | None:
        """What a test wants to be said."""
        return next((each for each in self.read("answers", []) if words[: len(each["words"])] == each["words"]), None)


@contextmanager
def held() -> Iterator[Machine]:
    """The machine, for one program at a time."""
    place = Path(os.environ["QUADGEN_STAND_INS"])
    lock = place / "lock"
    handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        if os.fstat(handle).st_uid == os.geteuid():
            lock.chmod(0o666)
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield Machine(place)
    finally:
        os.close(handle)


def whoever() -> str:
    """The name of the user that a program runs as."""
    return pwd.getpwuid(os.geteuid()).pw_name


def complain(text: str, status: int) -> int:
    """Print an error, and give the status."""
    sys.stderr.write(f"{text}\n")
    return status
