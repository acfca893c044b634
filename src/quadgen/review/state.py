"""A rendered fleet by the digests of its files, in git's way, so that only what differs need be read."""

from collections.abc import Iterable, Mapping
from hashlib import sha1, sha256
from typing import Final

from quadgen.ownership import MANIFEST
from quadgen.review.listing import Entry
from quadgen.tree import HostTree

Files = Mapping[str, str]
"""The id of each file's blob, by the path below its host's directory; the manifest is one of them."""
_SHA256_LENGTH: Final = 64


def blob_id(data: bytes, *, like: str) -> str:
    """The id that git gives to these bytes, in a repository whose ids are as long as `like`.

    Digests of `blob SIZE`, a zero byte and the content (gitformat-loose(5)); SHA-1 names here, and protects nothing.
    """
    whole = b"blob %d\0%b" % (len(data), data)
    digest = sha256(whole) if len(like) == _SHA256_LENGTH else sha1(whole, usedforsecurity=False)
    return digest.hexdigest()


def of_trees(trees: Iterable[HostTree], *, like: str) -> dict[str, Files]:
    """The hosts of a fleet that was compiled."""
    return {
        tree.host: {MANIFEST: blob_id(tree.manifest, like=like)}
        | {file.path: blob_id(file.data, like=like) for file in tree.files}
        for tree in trees
    }


def of_listing(entries: Mapping[str, Entry], under: str) -> dict[str, Files]:
    """The hosts below the output directory of a revision: each directory with a manifest, and its regular files."""
    skipped = 0 if under in ("", ".") else len(under) + 1
    found: dict[str, dict[str, str]] = {}
    for path, entry in entries.items():
        host, slash, inner = path[skipped:].partition("/")
        if slash and host[0] != "." and entry.regular:
            found.setdefault(host, {})[inner] = entry.id
    return {host: files for host, files in found.items() if MANIFEST in files}


def contents(trees: Iterable[HostTree], hosts: Mapping[str, Iterable[str]]) -> dict[str, dict[str, bytes]]:
    """The bytes of those files, by host and path, that a fleet has which was compiled."""
    found = {}
    for tree in trees:
        if tree.host in hosts:
            every = {MANIFEST: tree.manifest} | {file.path: file.data for file in tree.files}
            found[tree.host] = {path: every[path] for path in hosts[tree.host] if path in every}
    return found


def differing(old: Mapping[str, Files], new: Mapping[str, Files]) -> dict[str, list[str]]:
    """By host, the paths whose bytes are not the same on both sides, the manifest always among them."""
    found = {}
    for host in sorted(old.keys() | new.keys()):
        before, after = old.get(host, {}), new.get(host, {})
        if before != after:
            paths = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
            found[host] = sorted({*paths, MANIFEST})
    return found
