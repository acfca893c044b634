"""Standard output and error: what they are connected to changes neither the bytes nor the verdict."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

_CANNOT_WRITE: Final = 4
"""`Exit.ENVIRONMENT`, whose module is too heavy for --version."""


class _Sink(io.FileIO):
    """A file that goes on in silence where writing fails, so that the command ends as it would have."""

    failure: OSError | None = None

    def write(self, data: Any, /) -> int:  # noqa: ANN401 - any buffer
        """Write, or remember why not; afterwards only pretend to."""
        if self.failure is None:
            try:
                return super().write(data)
            except OSError as error:
                self.failure = error
        return memoryview(data).nbytes


@contextmanager
def ours() -> Iterator[None]:
    """Write UTF-8 wherever no terminal says otherwise, and end well when whoever reads has had enough.

    The exit status is the command's own then; where the output is lost for another reason (a full disk), it is 4.
    Streams that somebody else put in place stay.
    """
    sinks = [_replace(name, number) for number, name in ((1, "stdout"), (2, "stderr"))]
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        for sink in sinks:
            if sink is not None and sink.failure is not None and not isinstance(sink.failure, BrokenPipeError):
                sys.stderr.write(f"quadgen: cannot write the output: {sink.failure.strerror}\n")
                sys.exit(_CANNOT_WRITE)


def _replace(name: str, number: int) -> _Sink | None:
    stream = getattr(sys, name)
    if stream is None:  # closed by whoever started us
        setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - until the process ends
        return None
    if stream is not getattr(sys, f"__{name}__"):
        return None
    sink = _Sink(number, "w", closefd=False)
    terminal = stream.isatty()
    text = io.TextIOWrapper(
        io.BufferedWriter(sink),
        encoding=stream.encoding if terminal else "utf-8",
        errors="backslashreplace",
        line_buffering=terminal or number == 2,  # noqa: PLR2004 - stderr
    )
    setattr(sys, name, text)
    return sink
