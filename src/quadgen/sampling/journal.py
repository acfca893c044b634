"""Samples as they come, kept in a file, so that what was measured survives whatever ends the measurement.

A line of JSON each, below a first line that says of which measurement they are. Only one measurement of a key writes at
a time. A line that a kill cut off is left out when it is read again.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, Self

from quadgen.measuring.sample import Arm, Sample, Turn
from quadgen.ownership import shown
from quadgen.problems import Unavailable

_FORM: Final = 1
"""Of a file; one of another form is begun anew."""
_MOST: Final = 2**28
"""Bytes of a file; a sample of 200 tokens has 2000."""


class Journal:
    """The samples of one measurement; see `opened`."""

    def __init__(self, path: Path, handle: int, header: bytes) -> None:
        self.path = path
        self.samples: list[Sample] = []
        """Those that are in the file, in the order in which they were taken."""
        self.replaces = 0
        """Samples of an earlier measurement that are still in the file, and go when the first one comes."""
        self._handle = handle
        self._header = header
        self._size = 0
        """Bytes of the file that are whole lines."""

    @classmethod
    @contextmanager
    def opened(cls, directory: Path, key: str, *, resume: bool) -> Iterator[Self]:
        """The journal of the measurement whose samples `key` makes comparable, below a directory that may be missing.

        With `resume` it begins with the samples that are there, else without any; see `replaces`. Raises `Unavailable`
        where another one measures by this key, and where it cannot be written.
        """
        digest = hashlib.sha256(key.encode()).hexdigest()
        path = directory / f"{digest[:32]}.jsonl"
        header = json.dumps({"quadgen": _FORM, "key": digest}).encode() + b"\n"
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = _locked(path)
        except OSError as error:
            raise _unavailable("open", path, error) from error
        try:
            journal = cls(path, handle, header)
            journal._begin(resume=resume)
            yield journal
        finally:
            os.close(handle)

    def add(self, sample: Sample) -> None:
        """Keep one more. Raises `Unavailable` where it cannot be written; those before it stay."""
        if self.replaces:
            self._anew()
        self._write(json.dumps(asdict(sample), separators=(",", ":")).encode() + b"\n")
        self.samples.append(sample)

    def forget(self, turns: Container[Turn]) -> None:
        """Have the samples of these turns no more. Raises as `add` does."""
        left = [sample for sample in self.samples if sample.turn not in turns]
        if len(left) == len(self.samples):
            return
        self._anew()
        for sample in left:
            self.add(sample)

    def remove(self) -> None:
        """Forget all of them: what came of them is recorded. That the file stays there is no harm."""
        self.samples.clear()
        try:
            self.path.unlink(missing_ok=True)
        except OSError:
            self._cut(0)

    def _begin(self, *, resume: bool) -> None:
        try:
            held = os.pread(self._handle, _MOST, 0)
        except OSError as error:
            raise _unavailable("read", self.path, error) from error
        size = len(self._header)
        found = []
        for line in held[size:].splitlines(keepends=True) if held.startswith(self._header) else ():
            sample = _sample(line)
            if sample is None:
                break
            size += len(line)
            found.append(sample)
        if not found:
            self._anew()
        elif resume:
            self._size, self.samples = size, found
            self._cut(size)
        else:
            self.replaces = len(found)

    def _anew(self) -> None:
        """Begin a file without samples."""
        self.samples, self.replaces, self._size = [], 0, 0
        self._cut(0)
        self._write(self._header)

    def _write(self, line: bytes) -> None:
        try:
            written = 0
            while written < len(line):
                written += os.pwrite(self._handle, line[written:], self._size + written)
        except OSError as error:
            self._cut(self._size)
            raise _unavailable("write", self.path, error) from error
        self._size += len(line)

    def _cut(self, size: int) -> None:
        try:
            os.ftruncate(self._handle, size)
        except OSError as error:
            raise _unavailable("write", self.path, error) from error


def _locked(path: Path) -> int:
    """A handle of the file, which nobody else has as long as it is open."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is(path, handle):
                return handle
        except BlockingIOError:
            os.close(handle)
            raise Unavailable("another quadgen measures exactly this at the moment: wait for it, or stop it") from None
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # who had it before has removed it meanwhile


def _is(path: Path, handle: int) -> bool:
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    mine = os.fstat(handle)
    return (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)


def _sample(line: bytes) -> Sample | None:
    """What a line says; None where it is not whole."""
    if not line.endswith(b"\n"):
        return None
    try:
        told: dict[str, Any] = json.loads(line)
        turn = told.pop("turn")
        output = tuple(told.pop("output"))
        return Sample(turn=Turn(**turn | {"arm": Arm(turn["arm"])}), output=output, **told)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _unavailable(what: str, path: Path, error: OSError) -> Unavailable:
    return Unavailable(f"cannot {what} {shown(str(path))}, which keeps the samples: {error.strerror or error}")
