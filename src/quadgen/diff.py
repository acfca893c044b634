"""A plan as a unified diff, in git's dialect, so that `git apply` and every pager understand it."""

from collections.abc import Iterator
from difflib import unified_diff

from quadgen.plan import Change, Kind, Plan

_NO_NEWLINE = "\\ No newline at end of file\n"


def diff(plan: Plan) -> Iterator[str]:
    r"""Yield the lines, each with its line end, of a diff from the tree on disk to the rendered one.

    The plan must come from a survey that kept the texts. Bytes that are not UTF-8 appear as `\xNN`.
    """
    for change in plan.changes:
        yield f"diff --git a/{change.path} b/{change.path}\n"
        yield from _modes(change)
        yield from _hunks(change)


def _modes(change: Change) -> Iterator[str]:
    match change.kind:
        case Kind.CREATE:
            yield f"new file mode 100{change.new_mode:03o}\n"
        case Kind.REMOVE:
            yield f"deleted file mode 100{change.old_mode:03o}\n"
        case Kind.UPDATE | Kind.MODE:
            if change.old_mode != change.new_mode:
                yield f"old mode 100{change.old_mode:03o}\n"
                yield f"new mode 100{change.new_mode:03o}\n"


def _hunks(change: Change) -> Iterator[str]:
    old = "/dev/null" if change.kind is Kind.CREATE else f"a/{change.path}"
    new = "/dev/null" if change.kind is Kind.REMOVE else f"b/{change.path}"
    for line in unified_diff(_lines(change.old), _lines(change.new), old, new):
        if line.endswith("\n"):
            yield line
        else:
            yield from (f"{line}\n", _NO_NEWLINE)


def _lines(data: bytes | None) -> list[str]:
    """Split at newlines only: `str.splitlines` also splits at form feeds and at Unicode's line separators."""
    text = (data or b"").decode("utf-8", "backslashreplace")
    lines = text.split("\n")
    last = lines.pop()
    return [f"{line}\n" for line in lines] + ([last] if last else [])
