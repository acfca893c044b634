"""What is run: an image for Podman, a program for systemd."""

import re
from dataclasses import replace
from typing import Final

from quadgen.engines.base import Engine
from quadgen.problems import Problem, Severity
from quadgen.resolution import EngineEntry, Host
from quadgen.resolve import files
from quadgen.resolve.catalog import check_image
from quadgen.resolve.report import Reporter

_BUILDS: Final = (re.compile(r"(?<![A-Za-z0-9])b[0-9]{3,}(?![A-Za-z0-9])"), re.compile(r"^[0-9]+(?:\.[0-9]+){1,2}$"))
"""A build of llama-server anywhere in a tag, and a tag that is a version: not the 12.4 of server-cuda-12.4."""


def _where(ask: Reporter, field: str) -> str:
    """The field to point at: `field` where the fleet says it, else what chose the engine."""
    return next((each for each in (field, "engine") if ask.chain.said(each)), "backend")


def _derived(ask: Reporter, engine: EngineEntry, kind: Engine, backend: str) -> str | None:
    image = kind.image(engine, backend)
    if image is None:
        if len(engine.backends) > 1:
            message = f"no published image has the backends {', '.join(sorted(engine.backends))} together"
            hint = f"add `image:` to engines.{engine.name}"
        else:
            message = f"nobody says which build of {engine.kind} the engine {engine.name} is, so its image is not known"
            hint = f"add `build:` or `image:` to engines.{engine.name}"
        ask.add("missing-key", message, _where(ask, "engine"), hint=hint)
        return None
    if wrong := check_image(image):
        path = ("engines", engine.name, "build")
        ask.elsewhere(Problem(code="unexpected-value", message=wrong[0], path=path, hint="add `image:` to the engine"))
        return None
    ask.elsewhere(
        Problem(
            code="image-unverified",
            message=f"the image {image} is derived: not every build has one",
            severity=Severity.NOTE,
            path=("engines", engine.name),
            at="key",
            hint=f"look it up, then write it as `image:` of engines.{engine.name}",
        )
    )
    return image


def _names(tag: str, build: str) -> bool:
    """Whether a tag has the build among its words: server-b114340 is not of b11434."""
    return build in tag and re.search(rf"(?<![A-Za-z0-9]){re.escape(build)}(?![A-Za-z0-9])", tag) is not None


def _other(tag: str, build: str) -> str | None:
    """The build of the same kind that a tag names, if it names one."""
    found = next((pattern.search(tag) for pattern in _BUILDS if pattern.fullmatch(build)), None)
    return None if found is None else found[0]


def image(ask: Reporter, engine: EngineEntry, kind: Engine, backend: str) -> str | None:
    """The image of a Podman service; None after a refusal."""
    own: str | None = ask.get("image")
    if own is not None and (wrong := check_image(own)):
        ask.add("unexpected-value", wrong[0], "image", hint=wrong[1])
        return None
    stated = own or engine.image
    found = stated or _derived(ask, engine, kind, backend)
    if found is None:
        return None
    pinned = "@" in found
    if pinned and ask.get("auto_update") == "registry":
        message = "an image with a digest never updates, and podman-auto-update fails on it"
        ask.add("unexpected-value", message, "auto_update", hint="leave `auto_update` or the digest out")
    tag = found.rpartition("/")[2].partition(":")[2]
    if stated and not pinned and engine.build is not None and not _names(tag, engine.build):
        other = _other(tag, engine.build)
        if other is not None:
            message = f"the image {found} is of {other}, and the engine {engine.name} says build {engine.build}"
            hint = "let `image` and `build` name the same build"
        else:
            message = f"the tag of {found} floats: what runs may be another build than {engine.build}"
            hint = "pin the image by a tag of that build, or @sha256"
        _of_image(ask, engine, Problem(code="stale-build", message=message, severity=Severity.WARNING, hint=hint))
    policy = (ask.fleet.data.get("policy") or {}).get("digest", "ignore")
    if not pinned and policy != "ignore":
        severity = Severity.ERROR if policy == "refuse" else Severity.WARNING
        hint = "add the digest of the manifest list: podman images --digests shows it"
        message = f"the image {found} has no @sha256"
        _of_image(ask, engine, Problem(code="image-not-pinned", message=message, severity=severity, hint=hint))
    return found


def _of_image(ask: Reporter, engine: EngineEntry, problem: Problem) -> None:
    """Report what is wrong with the image where it is written, so that an engine's own is reported once."""
    if ask.get("image") is not None:
        ask.elsewhere(replace(problem, path=ask.chain.origin("image")))
    elif engine.image is not None:
        ask.elsewhere(replace(problem, path=("engines", engine.name, "image")))
    else:
        ask.elsewhere(replace(problem, path=("engines", engine.name), at="key"))


def binary(ask: Reporter, engine: EngineEntry, host: Host) -> str | None:
    """The program of a native service; None after a refusal."""
    if engine.binary is not None:
        return files.at_home(engine.binary, host)
    if not ask.fleet.is_broken(("engines", engine.name, "binary")):
        message = f"the engine {engine.name} has no `binary`, which runtime: systemd needs"
        hint = f"add `binary: /path/to/llama-server` to engines.{engine.name}, or use runtime: podman"
        ask.add("missing-key", message, _where(ask, "engine"), hint=hint)
    return None
