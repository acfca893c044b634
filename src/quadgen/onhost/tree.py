"""Which host of a rendered tree this machine is, and what the tree declares for it."""

import os
import stat
from typing import Final

from quadgen.disk import read_file
from quadgen.installed.declared import Declared, declared
from quadgen.onhost.inside import ABSENT
from quadgen.ownership import MANIFEST, shown
from quadgen.problems import Collector, Problem, Rejected
from quadgen.verify.scan import find_hosts

_SHOWN: Final = 12
"""Names of hosts that a refusal has."""


def declared_host(directory: str, host: str | None, node: str) -> Declared:
    """Read what `directory`, a rendered tree or a host's own, declares for `host`.

    Where that is None, for the host called as this machine is (`node`), in full or up to its first dot. Raises
    `Rejected` where there is none of that name (`nothing-to-verify`), or its manifest or a file of it is not as it
    was rendered; `Unavailable` where something cannot be read.
    """
    hosts, _ = find_hosts(directory)
    names = [host] if host is not None else [node, node.partition(".")[0]]
    name = next((name for name in names if name in hosts), None)
    if name is None:
        raise Rejected([_nobody(directory, host, node, sorted(hosts))])
    path = hosts[name]
    problems = Collector()
    manifest = read_file(f"{path}/{MANIFEST}")
    listed = declared(name, path, manifest, lambda name: _held(path, name), problems)
    problems.check()
    if listed is None:  # which is a problem, so that nobody comes here
        raise Rejected(problems.problems)
    return listed


def _held(directory: str, name: str) -> bytes | None:
    """The bytes of a file of a tree; None where it is none, also behind a link: that leads to what nobody rendered.

    Raises `Unavailable` where that cannot be told.
    """
    path = f"{directory}/{name}"
    if os.path.realpath(path) != f"{os.path.realpath(directory)}/{name}":
        return None
    try:
        there = stat.S_ISREG(os.lstat(path).st_mode)
    except OSError as error:
        there = error.errno not in ABSENT  # reading it says why it cannot be looked at
    return read_file(path) if there else None


def _nobody(directory: str, host: str | None, node: str, hosts: list[str]) -> Problem:
    """There is no such host; the names that there are, the nearest first."""
    from difflib import get_close_matches  # noqa: PLC0415 - only a refusal needs it

    asked = host if host is not None else node
    alike = {each.casefold(): each for each in reversed(hosts)}
    near = [alike[each] for each in get_close_matches(asked.casefold(), alike, n=1)]
    what = "no rendered host" if host is not None else "no host called as this machine is:"
    listed = hosts[:_SHOWN]
    more = len(hosts) - len(listed)
    return Problem(
        code="nothing-to-verify",
        message=f"{directory} holds {what} {shown(asked)}",
        host=host,
        notes=(f"it has {', '.join(map(shown, listed))}{f' and {more} more' if more else ''}",),
        hint=f"did you mean --host {near[0]}?" if near else "name one of them with --host",
    )
