"""What the name of a remote file says: an address, or a file of a repository on the hub."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote, unquote

from quadgen.problems import Unavailable

HUB: Final = "https://huggingface.co"
MAIN: Final = "main"
_REMOTE: Final = re.compile(r"hf:|https?://", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"(https?://)(?:[^/?#]*@)?([^?#]*)", re.IGNORECASE)
_IN_HUB: Final = re.compile(
    r"hf:(?P<repo>[\w.-]+/[\w.-]+)"
    r"(?:@(?P<revision>refs/pr/\d+|[^/:@]+))?"  # the one kind of revision with slashes that people write
    r"(?::(?P<quant>[\w.-]+)|/(?P<path>[^?#]+))?",
    re.ASCII | re.IGNORECASE,
)
_PULL: Final = re.compile(r"refs/pr/\d+", re.ASCII | re.IGNORECASE)
_OF_HUB: Final = re.compile(r"/(?P<repo>[^/]+/[^/]+)/(?P<kind>resolve|blob|raw|tree)/(?P<revision>[^/]+)/?(?P<path>.*)")
_API: Final = re.compile(r"/api/models/(?P<repo>[^/]+/[^/]+)/tree/(?P<revision>[^/]+)(?P<path>)")
_KINDS: Final = re.compile(r"^/(?:datasets|spaces)(?=/[^/]+/[^/]+/)")
_DOTS: Final = frozenset({".", ".."})


def is_remote(name: str) -> bool:
    """Whether a name is that of a file on a server: an http or https address, or `hf:` and what follows."""
    return _REMOTE.match(name) is not None


def shown(name: str) -> str:
    """Return the name for a message: an address without user, password, query and fragment, which can be secret."""
    found = _ADDRESS.match(name)
    return f"{found[1]}{found[2]}" if found else name


@dataclass(frozen=True, slots=True, kw_only=True)
class InHub:
    """A file of a repository, or the quant by which llama-server would choose one; all parts as the hub spells them."""

    repo: str
    """`org/repo`."""
    revision: str = MAIN
    path: str | None = None
    quant: str | None = None

    def __str__(self) -> str:
        plain = _PULL.fullmatch(self.revision)
        revision = "" if self.revision == MAIN else f"@{self.revision if plain else _quoted(self.revision)}"
        rest = f"/{self.path}" if self.path is not None else f":{self.quant}" if self.quant is not None else ""
        return f"hf:{self.repo}{revision}{rest}"

    def at(self, path: str) -> "InHub":
        """Return another file of the same repository and revision."""
        return replace(self, path=path, quant=None)

    def address(self, endpoint: str) -> str:
        """Return where the file is: `path` must be known."""
        return f"{endpoint}/{self.repo}/resolve/{_quoted(self.revision)}/{_quoted(self.path or '', safe='/')}"

    def listing(self, endpoint: str) -> str:
        """Return where the hub lists the files of the repository."""
        return f"{endpoint}/api/models/{self.repo}/tree/{_quoted(self.revision)}?recursive=true"


def _quoted(text: str, safe: str = "") -> str:
    return quote(text, safe=safe, errors="surrogateescape")  # as Python reads an argument that is not UTF-8


def in_hub(name: str) -> InHub | None:
    """Read a name of the hub; None where it is an address. Raises `Unavailable` where it is neither."""
    if name[:3].lower() != "hf:":
        return None
    found = _IN_HUB.fullmatch(name)
    if found is None or not _DOTS.isdisjoint((found["path"] or "").split("/")):
        raise Unavailable(f"{name} names no file of the hub: write hf:org/repo/file.gguf or hf:org/repo:quant")
    revision = unquote(found["revision"], errors="surrogateescape") if found["revision"] else MAIN
    return InHub(repo=found["repo"], revision=revision, path=found["path"], quant=found["quant"])


def endpoint(environ: Mapping[str, str]) -> str:
    """Return the hub's address without a slash at its end, from the variables that llama-server reads, in its order."""
    return (environ.get("MODEL_ENDPOINT") or environ.get("HF_ENDPOINT") or HUB).rstrip("/")


def asked_of_hub(path: str) -> InHub | None:
    """Read the path of an address on the hub, of a file or a list of files; None where it is another."""
    plain = _KINDS.sub("", path)
    found = _API.match(plain) or _OF_HUB.match(plain)
    if found is None:
        return None
    file = unquote(found["path"]) or None
    return InHub(repo=unquote(found["repo"]), revision=unquote(found["revision"]), path=file)


def page(path: str) -> tuple[str, str | None] | None:
    """Tell a page of the hub by the path of its address: what it is, and the path of the file that it is about.

    None where the path is no page's.
    """
    found = _OF_HUB.match(_KINDS.sub("", path))
    if found is None:
        whole = re.fullmatch(r"/[^/]+/[^/]+/?", path)
        return ("the page of a repository", None) if whole else None
    if found["kind"] == "resolve":
        return None
    if found["kind"] == "tree":
        return "the list of a repository's files", None
    direct = path.replace(f"/{found['kind']}/", "/resolve/", 1)
    return ("the page about a file" if found["kind"] == "blob" else "the text that git keeps of a large file"), direct
