"""A number with its source, and what is wrong with several of them."""

from dataclasses import dataclass


class Unclear(ValueError):  # noqa: N818 - it is a verdict on the input, not a fault of the program
    """What was given does not make a question. `option` is the one to change."""

    def __init__(self, option: str, sentence: str) -> None:
        self.option = option
        super().__init__(sentence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A number, and where it came from, in a few words."""

    value: float
    source: str
