"""Amounts for people."""


def gib(size: int) -> str:
    """Bytes in the unit in which machines are sold."""
    return f"{size / 2**30:.1f} GiB"


def amount(size: int) -> str:
    """Bytes: `15.9 GiB`, of the largest unit that leaves a digit before the point."""
    value, unit = float(size), "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:  # noqa: PLR2004 - as the units say
            break
        value, unit = value / 1024, larger
    return f"{value:.{0 if unit == 'bytes' else 1}f} {unit}"


def short(number: int) -> str:
    """A count: `26.9 billion`, `268.1 million`, `3500`."""
    for least, unit in ((10**9, "billion"), (10**6, "million")):
        if number >= least:
            return f"{number / least:.1f} {unit}"
    return str(number)
