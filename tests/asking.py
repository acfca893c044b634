"""Asking a server of a test for a file, with secrets that no refusal may hold."""

import traceback
from collections.abc import Mapping

import httpx
import pytest

from file_server import NOTHING, Server
from quadgen import remote
from quadgen.problems import Unavailable

TOKEN = "hf_" + "WxYz9876" * 5
SECRET = "s3cr3t-word"  # noqa: S105 - of nothing
FILE = "/org/repo/resolve/main/model.gguf"
HF = "hf:org/repo/model.gguf"
DATA = b"GGUF and what follows"


def at_hub(server: Server, *, token: bool = True, prefix: str = "") -> dict[str, str]:
    return {"HF_ENDPOINT": server.url(prefix)} | ({"HF_TOKEN": TOKEN} if token else {})


def read(name: str, environ: Mapping[str, str] = NOTHING) -> bytes:
    with remote.opened(name, environ=environ) as (source, *_):
        return bytes(source.read(0, 8))


def told(name: str, environ: Mapping[str, str] = NOTHING) -> str:
    """The refusal; what it holds and what led to it has no secret in it."""
    with pytest.raises(Unavailable) as caught:
        read(name, environ)
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + str(caught.value)
    chain: BaseException | None = caught.value
    while chain is not None:
        shown += repr(chain) + repr(vars(chain))
        assert not isinstance(chain, httpx.HTTPError), "it holds the request"
        chain = chain.__cause__ or chain.__context__
    assert TOKEN not in shown
    assert SECRET not in shown
    return str(caught.value)


def authorization(server: Server) -> list[str | None]:
    return [seen.headers["Authorization"] for seen in server.seen]
