"""Where the files of a service are: on the host, as the server sees them, and what must be mounted for that."""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from quadgen.engines.side_doors import reaches_speculation_path
from quadgen.resolution import Host, Mount
from quadgen.resolve.report import Reporter

_SHARD = re.compile(r"(.*)-([0-9]{5})-of-([0-9]{5})\.gguf")
INSIDE = "/models"
"""Where a container has its models_dir."""


def shards(path: str) -> Iterator[str]:
    """Every file of a checkpoint: itself, or all shards where it is the first of several."""
    found = _SHARD.fullmatch(path)
    if found is None or found[2] != "00001":
        yield path
        return
    for number in range(1, int(found[3]) + 1):
        yield f"{found[1]}-{number:05d}-of-{found[3]}.gguf"


@dataclass(slots=True)
class Shelf:
    """Collects the files of one service, and the mounts that a container needs to see them."""

    ask: Reporter
    host: Host
    models_dir: str
    """On the host."""
    writable: bool
    files: list[str] = field(default_factory=list)
    mounts: dict[str, Mount] = field(default_factory=dict)

    @property
    def inside(self) -> str:
        """models_dir as the server sees it."""
        return INSIDE if self.host.runtime == "podman" else self.models_dir

    def mount_models(self) -> None:
        """Mount models_dir itself, which a fetching server writes to."""
        self._mount(self.models_dir, INSIDE)

    def _mount(self, source: str, target: str) -> None:
        options = "z" if self.writable and target == INSIDE else "ro,z"
        self.mounts[target] = Mount(source=source, target=target, options=options)

    def place(self, name: str, *keys: str) -> str:
        """The path of a file as the server sees it. `name` is below models_dir, or absolute, or below ~/."""
        path = at_home(name, self.host)
        if not path.startswith("/"):
            path = posixpath.join(self.models_dir, path)
        parts = list(shards(path))
        if _SHARD.fullmatch(path) and len(parts) == 1 and not path.endswith("-00001-of-00001.gguf"):
            self.ask.add(
                "unexpected-value", f"{name} is not the first shard", *keys, hint="name the file -00001-of-..."
            )
        for part in parts:
            if part not in self.files:
                self.files.append(part)
        if self.host.runtime == "systemd":
            return path
        below = f"{self.models_dir}/"
        if path.startswith(below):
            self._mount(self.models_dir, INSIDE)
            return posixpath.join(INSIDE, path.removeprefix(below))
        directory = posixpath.dirname(path)
        if directory in ("/", "/etc", "/usr", "/var", "/proc", "/sys", "/dev", "/app", "/lib", "/bin"):
            self.ask.add(
                "unsafe-value",
                f"mounting {directory} for {name} would hide the container's own",
                *keys,
                hint="move the file to a directory of its own",
            )
        if ":" in directory:
            self.ask.add("unsafe-value", f"{directory} has a colon, which ends a path in Volume=", *keys)
        self._mount(directory, directory)
        return path


def at_home(path: str, host: Host) -> str:
    """`~/` is the home of the host's user."""
    return posixpath.join(host.home, path[2:]) if path.startswith("~/") else path


_OPTIONS = frozenset(
    [
        "ro",
        "rw",
        "z",
        "Z",
        "O",
        "U",
        "copy",
        "nocopy",
        "dev",
        "nodev",
        "exec",
        "noexec",
        "suid",
        "nosuid",
        "bind",
        "rbind",
        "private",
        "rprivate",
        "shared",
        "rshared",
        "slave",
        "rslave",
        "unbindable",
        "runbindable",
        "idmap",
        "noatime",
    ]
)


def volume(text: str, ask: Reporter, host: Host, home: str) -> Mount | None:
    """One entry of `volumes`, Podman's src:dst[:options]; None after a refusal. `home` is the server's HOME."""
    parts = text.split(":")
    if len(parts) not in (2, 3):
        hint = "write /on/the/host:/in/the/container:ro,z; a path with a colon cannot be mounted by Volume="
        ask.add("unsafe-value", f"{text!r} is no src:dst[:options]", "volumes", hint=hint)
        return None
    source, target, options = at_home(parts[0], host), parts[1], parts[2] if len(parts) > 2 else ""  # noqa: PLR2004 - the third part
    if not source.startswith("/"):
        if source.endswith(".volume") and "/" not in source:
            return Mount(source=source, target=target, options=options)
        message = (
            f"{source!r} names a volume that nothing declares"
            if "/" not in source
            else f"{source!r} is no absolute path"
        )
        ask.add(
            "unsafe-value",
            message,
            "volumes",
            hint="write an absolute path, one below ~/, or NAME.volume for a Quadlet volume",
        )
        return None
    if not target.startswith("/") or "/../" in f"{target}/" or "/../" in f"{source}/":
        ask.add("unsafe-value", f"{target!r} is no absolute path without ..", "volumes")
        return None
    if reaches_speculation_path(target, home=home):
        message = f"{target} is where llama-server reads a config.ini, which reaches speculation"
        ask.add("speculation-outside-profile", message, "volumes", hint="mount it elsewhere")
        return None
    for option in options.split(",") if options else ():
        if option not in _OPTIONS:
            ask.add("unsafe-value", f"{option!r} is no mount option", "volumes", hint="such as ro, z, nodev")
            return None
        if option == "Z" and host.selinux != "disable":
            ask.add(
                "unsafe-value",
                "`Z` makes the files this container's alone, and another service loses them",
                "volumes",
                hint="use z",
            )
            return None
    return Mount(source=source, target=target, options=options)
