"""Files on an HTTP server, read from their start in a few windows: the only network effects of the package.

httpx is imported when the first file is opened. Proxies and certificate authorities are those
that the environment of the process names, as httpx reads them.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from quadgen.gguf.source import Source
from quadgen.remote.names import is_remote

__all__ = ["is_remote", "opened", "projector"]


@contextmanager
def opened(name: str, *, environ: Mapping[str, str]) -> Iterator[list[Source]]:
    """Open a file by its address, or by `hf:org/repo/file` or `hf:org/repo:quant`: one source for each shard, in order.

    A revision may follow the repository: `hf:org/repo@revision/file`. Of a quant the file is chosen as llama-server
    b11434 does (common/download.cpp). `environ` has HF_TOKEN, and MODEL_ENDPOINT or HF_ENDPOINT, which move the hub.

    Nothing is asked but a hub's list of files before a source is first read. All of them together read up to 64 MiB.
    Raises `Unavailable`, and `Malformed` for an address that is a page about a file, or that of a later shard.
    """
    from quadgen.remote.opening import sources  # noqa: PLC0415 - httpx costs time
    from quadgen.remote.web import Web  # noqa: PLC0415 - as above

    with Web(environ) as web:
        files = list(sources(web, name))
        try:
            yield [*files]
        finally:
            for file in files:
                file.close()


def projector(name: str, *, environ: Mapping[str, str]) -> str | None:
    """Name the projector that llama-server b11434 takes from the repository of a model, as `hf:org/repo/file`.

    None where there is none, and where `name` is a plain address. Raises `Unavailable`.
    """
    from quadgen.remote.opening import projector_of  # noqa: PLC0415 - httpx costs time
    from quadgen.remote.web import Web  # noqa: PLC0415 - as above

    with Web(environ) as web:
        return projector_of(web, name)
