"""From the name of a remote file to its sources: the hub's list of files, the shards, pages that are no files."""

import json
from collections.abc import Iterator
from typing import Any, Final

from quadgen.gguf.shards import siblings
from quadgen.gguf.source import Malformed
from quadgen.problems import Unavailable
from quadgen.remote.bodies import Body
from quadgen.remote.choice import PRESET, model, projector, quants
from quadgen.remote.failures import Failed
from quadgen.remote.names import InHub, in_hub, page, shown
from quadgen.remote.ranges import WINDOW, RemoteFile
from quadgen.remote.web import Spot, Web

LONGEST_LIST: Final = 16 * 2**20
"""Bytes of a list of files: a repository with 1000 of them, which is a page of the hub's, has a fiftieth."""
LATER: Final = 2**16
"""Bytes of the first window of each later shard, whose header has little more than its tensors."""


def sources(web: Web, name: str) -> Iterator[RemoteFile]:
    """See `remote.opened`."""
    asked = in_hub(name)
    if asked is None:
        yield from _shards(web, name)
        return
    if asked.path is None:
        asked = asked.at(_chosen(asked, _files(web, asked)))
    for path in siblings(asked.path or ""):
        one = asked.at(path)
        window = WINDOW if path == asked.path else LATER
        yield RemoteFile(name=str(one), web=web, spot=web.spot(one.address(web.hub)), window=window)


def projector_of(web: Web, name: str) -> str | None:
    """See `remote.projector`."""
    asked = in_hub(name)
    if asked is None:
        return None
    files = _files(web, asked)
    found = projector(files, asked.path or _chosen(asked, files))
    return str(asked.at(found)) if found is not None else None


def _shards(web: Web, name: str) -> Iterator[RemoteFile]:
    spot = web.spot(name)
    hint = _page(web, spot)
    head, separator, query = name.partition("?")
    for position, path in enumerate(siblings(head.partition("#")[0])):
        one = f"{path}{separator}{query}"
        yield RemoteFile(
            name=shown(one), web=web, spot=web.spot(one), hint=hint, window=WINDOW if position == 0 else LATER
        )


def _page(web: Web, spot: Spot) -> str:
    """Refuse an address on the hub that is a page's; elsewhere return what to say if it turns out to be one."""
    on_hub = web.is_hub(spot.url)
    found = page(web.path(spot.url))
    if found is None or (not on_hub and found[1] is None):
        return ""
    what, direct = found
    base = web.base(spot.url) if on_hub else f"{spot.url.scheme}://{spot.url.netloc.decode('ascii')}"
    use = f"its address is {base}{direct}" if direct else "write hf:org/repo/file.gguf, or hf:org/repo:quant"
    if on_hub:
        raise Malformed(f"it is {what}, not the file itself: {use}", offset=0)
    return f": {use}, if that server names files as the hub does"


def _files(web: Web, asked: InHub) -> list[str]:
    """The names of a repository's files, in the hub's order: of its first page, as llama-server reads them."""
    name = str(asked)
    answer = web.ask(web.spot(asked.listing(web.hub)), name)
    body = Body(answer, web, position=0, end=None)
    try:
        data = body.take(LONGEST_LIST + 1)
    except Failed as failed:
        raise Unavailable(f"cannot read {name}: {failed}") from None
    finally:
        body.close()
    wrong = f"cannot read {name}: {answer.spot.url.netloc.decode('ascii')} sends no list of files"
    if len(data) > LONGEST_LIST or answer.response.headers.get("content-encoding", "identity") != "identity":
        raise Unavailable(wrong)
    try:
        listed: Any = json.loads(data)
    except (ValueError, RecursionError):
        raise Unavailable(wrong) from None
    if not isinstance(listed, list):
        raise Unavailable(wrong)
    return [
        entry["path"]
        for entry in listed
        if isinstance(entry, dict) and entry.get("type") == "file" and isinstance(entry.get("path"), str)
    ]


def _chosen(asked: InHub, files: list[str]) -> str:
    if PRESET in files:
        raise Unavailable(f"cannot read {asked}: it has a {PRESET}, which llama-server takes in the place of a model")
    found = model(files, asked.quant)
    if found is not None:
        return found
    has = quants(files)
    there = f"; it has {', '.join(has)}" if has else ""
    what = f"model of the quant {asked.quant}" if asked.quant else "GGUF model"
    raise Unavailable(f"cannot read {asked}: {asked.repo} has no {what}{there}")
