"""models.lock.yml: what the headers of a fleet's models say, as a file that git keeps and people review."""

from collections.abc import Iterator
from typing import Any, Final

from quadgen.facts.lock_fields import facts, written
from quadgen.facts.lock_text import entry
from quadgen.facts.record import Facts, Lock
from quadgen.problems import Collector, Path, Problem

VERSION: Final = 1
_HEAD: Final = "# What the headers of this fleet's model files say. `quadgen lock` writes it and renews it."
_RENEW: Final = "take the file away and run quadgen lock again"


def dump(lock: Lock) -> str:
    """The text of a lock: ASCII, sorted by file and key, without a date or anything else of the machine.

    A digit more in a header is a line more in the difference. `parse` gives the same facts back, but half of a
    surrogate pair in a text, which a header that was read has none of, becomes U+FFFD.
    """
    return "\n".join((_HEAD, f"version: {VERSION}", *_files(lock), ""))


def _files(lock: Lock) -> Iterator[str]:
    if not lock.files:
        yield "files: {}"
        return
    yield "files:"
    for name in sorted(lock.files):
        yield from entry(name, lock.files[name])


def parse(name: str, data: Any, collector: Collector) -> Lock:  # noqa: ANN401 - any YAML value
    """Read the data of a lock file that is called `name`.

    What is wrong with it goes to `collector` and out of the lock: `unknown-key`, `missing-key` and
    `unexpected-value`, each with its path in the file. Keys at the top that begin with `x-` are passed over.
    """

    def wrong(message: str, path: Path, *, code: str = "unexpected-value", hint: str | None = None) -> None:
        collector.add(Problem(code=code, message=message, file=name, path=path, hint=hint))

    if not isinstance(data, dict):
        wrong("a lock is a mapping", (), hint=f"if it is no lock, name another file; else {_RENEW}")
        return Lock()
    if data.get("version") != VERSION or isinstance(data["version"], bool):
        shown = written(data.get("version"))
        if shown is None:
            code = "missing-key" if "version" not in data else "unexpected-value"
            wrong(
                "the lock does not say of which version it is", (), code=code, hint=f"begin with `version: {VERSION}`"
            )
        else:
            hint = f"use a newer quadgen, or {_RENEW}"
            wrong(f"the lock is of version {shown}, and this quadgen reads {VERSION}", ("version",), hint=hint)
        return Lock()
    for key in data:
        if key not in ("version", "files") and not key.startswith("x-"):
            message, hint = f"`{key}` is not a key of a lock", "the keys here are version, files"
            collector.add(Problem(code="unknown-key", message=message, file=name, path=(key,), at="key", hint=hint))
    listed = data.get("files")
    if listed is None:
        return Lock()
    if not isinstance(listed, dict):
        wrong("`files` takes a mapping", ("files",))
        return Lock()
    found: dict[str, Facts] = {}
    for key, fields in listed.items():
        one = facts(name, ("files", key), fields, collector)
        if one is not None:
            found[key] = one
    return Lock(files=found)
