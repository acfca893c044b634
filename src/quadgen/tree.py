"""What a render is made from and what it makes: templates; the files of one host, and the manifest that lists them."""

from dataclasses import dataclass
from typing import NamedTuple

FILE_MODE = 0o644
"""Units are read by root and by users alike, and hold no secret (systemd.unit(5) has no other need)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """One rendered file."""

    path: str
    """Below the host's directory, without `.`, `..` or an empty part: `etc/systemd/system/chat.service`."""
    data: bytes
    mode: int = FILE_MODE
    """The permission bits, whatever the umask."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTree:
    """Everything that one host gets: its directory mirrors the root of its file system."""

    host: str
    """The name of its directory: one path component that does not begin with a dot."""
    files: tuple[File, ...]
    """Sorted by path, each path once."""
    manifest: bytes
    """The final manifest.json: JSON with `version`, `host` and, in `files`, every path of `files`."""


class Template(NamedTuple):
    """The text of a template."""

    text: str
    place: str
    """Where it came from, as problems name it."""
    own: bool
    """Whether it is a fleet's own and not quadgen's: then its expressions are fenced in."""
