"""The work of `quadgen observe`: what was named, reading it, and holding it against a fleet."""

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import typer

from quadgen.cli import console, explaining, servers, work
from quadgen.cli.observed_words import Answer
from quadgen.disk import logs
from quadgen.disk.pieces import PIECE, pieces
from quadgen.disk.reading import unavailable
from quadgen.drift import drift
from quadgen.fleet import values
from quadgen.locating import placed
from quadgen.observed import live, metrics
from quadgen.observed.foreign import Wanted, begun
from quadgen.observed.state import Observation
from quadgen.pipeline import Compiled, find
from quadgen.problems import Rejected, Unavailable
from quadgen.resolution import Resolution
from quadgen.server.address import address, looks_like_an_address
from quadgen.server.client import connected
from quadgen.server.looking import look

_STDIN: Final = "-"
_SCRAPE: Final = (b"# HELP ", b"# TYPE ", b"llamacpp:")
"""How the text of /metrics begins, and no line of a log does."""
_SOURCE: Final = Wanted(
    then="| quadgen observe -", instead="the log of the server, the text of its /metrics, or its own address"
)
_SINCE: Final = Wanted(then="> before.txt", instead="the text that its /metrics answered before")
_LARGEST: Final = 16 * 2**20
"""Bytes of a text of /metrics; that of a server has 4 kB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The command line."""

    source: str
    fleet: str | None
    target: str | None
    window: str | None
    since: str | None
    key_file: str | None
    model: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Looked:
    observation: Observation
    seen: live.Seen


def answer(asked: Asked) -> Answer:
    """Do what was asked. Raises `Rejected` and `Unavailable`, and a usage error where options do not go together."""
    _check(asked)
    if not is_server(asked.source):
        return Answer(observation=_of_text(asked))
    seconds = _seconds(asked.window)
    if asked.fleet is None or asked.target is None:
        return Answer(observation=_of_server(asked, seconds).observation)
    compiled, service = _service(asked.fleet, asked.target, asked.source)
    looked = _of_server(asked, seconds)
    named = (compiled.fleet.data["hosts"][service.host.name] or {}).get("services") or {}
    layers = compiled.fleet.chain(service.host.name, service.name if service.name in named else None)
    found = drift(service, layers, looked.seen, looked.observation)
    problems = tuple(placed(found.problems, compiled.documents, compiled.name))
    return Answer(observation=looked.observation, drift=found, problems=problems)


def is_server(source: str) -> bool:
    """Whether a server is meant; a file of that name goes before an address without a scheme."""
    if "://" in source:
        return True
    return source != _STDIN and looks_like_an_address(source) and not Path(source).exists()


def _check(asked: Asked) -> None:
    """Refuse options that do not go together."""
    live_only = {"--fleet": asked.fleet, "--window": asked.window, "--api-key-file": asked.key_file,
                 "--model": asked.model}  # fmt: skip
    given = [name for name, value in live_only.items() if value is not None]
    if not asked.source:
        raise typer.BadParameter("name a server, a log, or - for standard input", param_hint="URL|LOG|-")
    if asked.fleet is None and asked.target is not None:
        raise typer.BadParameter("name the fleet that it is in, with --fleet", param_hint="HOST[/SERVICE]")
    if asked.fleet is not None and asked.target is None:
        raise typer.BadParameter("name the service that it should be: HOST[/SERVICE]", param_hint="--fleet")
    if is_server(asked.source):
        if asked.since is not None:
            hint = "for a server that runs, use --window"
            raise typer.BadParameter(f"goes with a saved text of /metrics; {hint}", param_hint="--since")
    elif asked.since == _STDIN == asked.source:
        raise typer.BadParameter("only one of two texts can be standard input", param_hint="--since")
    elif given:
        raise typer.BadParameter("goes with the address of a running server alone", param_hint=given[0])


def _seconds(window: str | None) -> float:
    if window is None:
        return 0.0
    try:
        return float(values.duration(window))
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--window") from error


def _of_server(asked: Asked, seconds: float) -> _Looked:
    key = servers.api_key(asked.key_file)
    with connected(asked.source, environ=os.environ, api_key=key, model=asked.model) as server:
        if seconds and sys.stderr.isatty():
            console.say(f"reading {server.url} again in {seconds:.0f} s")
        seen = look(server, window=seconds)
        return _Looked(observation=live.observation(server.url, seen), seen=seen)


def _service(fleet: str, target: str, source: str) -> tuple[Compiled, Resolution]:
    """The service that the server should be. Raises `Rejected` where the fleet is refused, or has no such service."""
    host, _, name = target.partition("/")
    compiled = work.compiled(fleet, [host], about=host)
    if compiled.refused:
        raise Rejected(compiled.problems)
    if name:
        explaining.check_service(compiled, host, name)
    services = find(compiled, host, name or None)
    if len(services) > 1:
        services = [each for each in services if each.port == _port(source)] or services
    if len(services) != 1:
        known = ", ".join(f"{host}/{each.name} (port {each.port})" for each in find(compiled, host, None))
        raise typer.BadParameter(f"say which service it should be: {known}", param_hint="HOST[/SERVICE]")
    return compiled, services[0]


def _port(source: str) -> int:
    """The port of an address."""
    where = address(source)
    said = where.netloc.rpartition(":")[2]
    if where.netloc != where.host and said.isdigit():
        return int(said)
    return 443 if where.scheme == "https" else 80


def _of_text(asked: Asked) -> Observation:
    """What a log or a saved text of /metrics says."""
    first, rest = begun(asked.source, _pieces(asked.source), _SOURCE)
    if not _is_scrape(first):
        if asked.since is not None:
            raise _no_scrape(asked.source)
        return logs.read(asked.source, rest).observation
    scrapes = [metrics.parse(asked.source, _text(asked.source, rest))]
    if asked.since is not None:
        first, rest = begun(asked.since, _pieces(asked.since), _SINCE)
        if not _is_scrape(first):
            raise _no_scrape(asked.since)
        scrapes.insert(0, metrics.parse(asked.since, _text(asked.since, rest)))
    return live.observation(asked.source, live.Seen(scrapes=tuple(scrapes)))


def _is_scrape(first: bytes) -> bool:
    return first.lstrip().startswith(_SCRAPE)


def _no_scrape(name: str) -> typer.BadParameter:
    what = f"goes with texts of /metrics, and {console.shown(name)} is none"
    return typer.BadParameter(what, param_hint="--since")


def _pieces(name: str) -> Iterator[bytes]:
    if name == _STDIN:
        yield from _standard_input()
        return
    try:
        yield from pieces(name)
    except Unavailable as error:
        if ":" in name or "/" in name or "." in name:
            raise
        raise Unavailable(f"{error}; a server is named with its port: {name}:8080") from error


def _standard_input() -> Iterator[bytes]:
    if sys.stdin is None:
        raise Unavailable("cannot read standard input: it is closed")
    try:
        while piece := sys.stdin.buffer.read(PIECE):
            yield piece
    except OSError as error:
        raise unavailable("read", "standard input", error) from error


def _text(name: str, read: Iterable[bytes]) -> str:
    whole = bytearray()
    for piece in read:
        whole += piece
        if len(whole) > _LARGEST:
            raise Unavailable(f"cannot read {console.shown(name)}: no server has so much to say at /metrics")
    return whole.decode(errors="replace")
