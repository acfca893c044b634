"""An arm that runs already: a server at an address, which is asked and never restarted.

Its drafters keep what they learned from whoever asked before, so that it is measured as it stands: `steady`. Nobody
counts its CPU seconds, and its log is not seen.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from quadgen.measuring.launch import Launch
from quadgen.measuring.told import Told
from quadgen.observed import answers
from quadgen.observed.answers import Misshapen
from quadgen.problems import Unavailable
from quadgen.sampling.opening import PATIENCE, Opened
from quadgen.server.client import Server, connected
from quadgen.server.failures import NoAnswer

_TASK: Final[Mapping[str, Any]] = {"prompt": "A", "n_predict": 1, "temperature": 0, "cache_prompt": False}
"""After its first task a slot says what --spec-type it has. Of one token nothing is drafted or learned."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Addressed:
    """The server at an address; see `sampling.opening.Source`. Has no repr: it can hold a key."""

    url: str
    types: tuple[str, ...]
    """What it must speculate with, as --spec-type names it; empty where it must not."""
    environ: Mapping[str, str]
    """Of quadgen: proxies, and LLAMA_API_KEY."""
    api_key: str | None = None
    patience: float = PATIENCE
    """Seconds of silence that its answers may have."""

    @contextmanager
    def opened(self) -> Iterator[Opened]:
        """See `Source`."""
        with connected(self.url, environ=self.environ, api_key=self.api_key, timeout=self.patience) as server:
            yield Opened(server=server, process=None, launch=Launch(program=server.url, arguments=(), types=self.types))


def told(server: Server) -> Told:
    """Ask a server what it is. One token is generated.

    Raises `NoAnswer` where it cannot be asked, `Unavailable` where it is no llama-server, is a router, or answers
    otherwise than one does.
    """
    _has_completions(server)
    try:
        properties = answers.properties(server.get("/props"))
        slots = answers.slots(server.get("/slots"))
        listed = answers.listed(models := server.get("/v1/models"))
    except Misshapen as error:
        raise Unavailable(f"cannot ask {server.url}: it answers {error}") from error
    if properties.is_router or len(listed) != 1:
        raise Unavailable(f"{server.url} serves several models: measure against the server of one")
    said = {slot.speculative for slot in slots} - {None}
    meta = models["data"][0].get("meta") or {}
    return Told(
        url=server.url,
        build=properties.build,
        model=properties.alias or listed[0].id,
        file=(properties.model_path or "").replace("\\", "/").rpartition("/")[2] or None,
        parameters=_number(meta, "n_params"),
        size=_number(meta, "size"),
        vocabulary=_number(meta, "n_vocab"),
        quantization=meta.get("ftype") if isinstance(meta.get("ftype"), str) else None,
        context=properties.context,
        slots=properties.slots,
        speculative=True in said if said else None,
        requested=next((slot.requested for slot in slots if slot.requested is not None), ()),
    )


def _has_completions(server: Server) -> None:
    try:
        server.post("/completion", _TASK)
    except NoAnswer as error:
        if error.status not in {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED}:
            raise
        why = "has no /completion, where a llama-server generates from a text as it is; halogen has none either"
        raise Unavailable(f"cannot measure {server.url}: it {why}") from error


def _number(meta: Mapping[str, Any], key: str) -> int | None:
    value = meta.get(key)
    return value if type(value) is int else None
