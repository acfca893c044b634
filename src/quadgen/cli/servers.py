"""What the commands share that ask running servers: their options, and where an API key comes from."""

from typing import Annotated

import typer

ApiKeyOption = Annotated[
    str | None,
    typer.Option("--api-key-file", metavar="FILE", help="A file with the server's API key; LLAMA_API_KEY without it."),
]
"""Never the key itself: everybody on the machine sees the arguments of a process."""
ModelOption = Annotated[
    str | None, typer.Option("--model", metavar="NAME", help="The model to ask a router of several models about.")
]


def api_key(file: str | None) -> str | None:
    """The first key of a file as llama-server's own --api-key-file has them, one a line; None without a file.

    A line that begins with # is a comment there (common/arg.cpp of llama.cpp b11434).

    Raises `Unavailable` where the file cannot be read or holds none.
    """
    from quadgen import disk  # noqa: PLC0415 - heavy
    from quadgen.problems import Unavailable  # noqa: PLC0415 - as above

    if file is None:
        return None
    lines = disk.read_file(file).decode(errors="replace").splitlines()
    found = next((line.strip() for line in lines if line.strip() and not line.startswith("#")), None)
    if found is None:
        raise Unavailable(f"there is no API key in {file}")
    return found
