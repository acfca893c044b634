"""Where the bytes of a header come from: a file, an HTTP server, or a test."""

from typing import Protocol


class Source(Protocol):
    """A file that is read from its start, in windows that the source sizes itself."""

    @property
    def name(self) -> str:
        """As the user wrote it; without credentials, since messages quote it."""

    @property
    def size(self) -> int | None:
        """Bytes of the whole file; None where nobody says. Known at the latest after the first `read`."""

    def read(self, offset: int, least: int) -> bytes | memoryview:
        """Return the bytes that begin at `offset`: at least `least`, which is above 0, unless the file ends before.

        More are welcome, as many as one window has. Fewer than `least` means that the file ends there. Raises
        `quadgen.problems.Unavailable` where they cannot be had, or more than the source is willing to fetch.
        """


class Malformed(Exception):  # noqa: N818 - as the contract calls it
    """What is no GGUF header; a reader raises nothing else for what it reads."""

    def __init__(self, message: str, *, offset: int, key: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        """A sentence without its end, which names the key or the tensor where one is known."""
        self.offset = offset
        """Byte of the file at which the reader stood."""
        self.key = key
