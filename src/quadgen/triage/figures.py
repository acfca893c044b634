"""How numbers are written in sentences and tables."""


def rate(value: float) -> str:
    """Tokens per second, without the unit."""
    return f"{value:.1f}" if value >= 1 else f"{value:.3g}"


def chance(value: float | None) -> str:
    """An acceptance; `none` where there is none."""
    return "none" if value is None else f"{value:.3f}"


def given(value: float) -> str:
    """An acceptance as it was given: as short as it can be."""
    return f"{value:.6g}"


def tokens(value: float) -> str:
    """Tokens per round."""
    return f"{value:.2f}"


def milliseconds(seconds: float) -> str:
    """A time with its unit."""
    return f"{seconds * 1000:.4g} ms"


def joined(words: list[str], last: str = "and") -> str:
    """`a, b and c`."""
    return f" {last} ".join([*([", ".join(words[:-1])] if words[:-1] else []), *words[-1:]])
