"""Where the files of a service are: on the host, as the server sees them, and what must be mounted for that."""

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from quadgen.engines.side_doors import reaches_speculation_path
from quadgen.facts.record import Facts
from quadgen.problems import Path, Problem
from quadgen.resolution import Checkpoint, Host, Mount
from quadgen.resolve import reach
from quadgen.resolve.report import Reporter

_SHARD = re.compile(r"(.*)-([0-9]{5})-of-([0-9]{5})\.gguf")
_MOST_SHARDS = 1000
"""More than any published checkpoint has by an order of magnitude; each is a line of the unit."""
INSIDE = "/models"
"""Where a container has its models_dir."""
CACHE = "/cache"
"""HOME of a container whose root is read-only: shader and JIT caches."""
SECRETS = "/run/secrets"
"""Where Podman mounts a secret."""
_OWN_TREES = ("/app", "/bin", "/lib", "/lib64", "/proc", "/sbin", "/sys", SECRETS)
"""Directories of the image or of Podman itself: nothing is mounted at or below them."""
_OWN = frozenset(
    "/ /dev /etc /opt /run /usr /usr/bin /usr/lib /usr/lib64 /usr/local /usr/local/bin /usr/local/lib /usr/sbin "  # noqa: SIM905 - reads better
    "/usr/share /var".split()
)
"""Directories in which images keep what they need: something may be mounted below them, never in their place."""


def hides(target: str, program: str | None = None) -> bool:
    """Whether a mount at `target` would hide what the image or Podman has there, such as its `program`."""
    return (
        target in _OWN
        or any(covers(tree, target) for tree in _OWN_TREES)
        or (program is not None and covers(target, program))
    )


def covers(directory: str, path: str) -> bool:
    """Whether `path` is `directory` or below it."""
    return path == directory or path.startswith(f"{directory}/")


def clean(path: str) -> str:
    """An absolute path without doubled slashes and `.` in it."""
    if "//" in path or "/." in path:
        return posixpath.normpath(f"/{path.lstrip('/')}")
    return path


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
    cached: bool = True
    """Whether the container has its HOME at CACHE."""
    files: list[str] = field(default_factory=list)
    """On the host: each must be there before the server starts."""
    seen: list[str] = field(default_factory=list)
    """As the server sees them."""
    mounts: dict[str, Mount] = field(default_factory=dict)
    recorded: Mapping[str, Facts] = field(default_factory=dict)
    """By the name of a file as the fleet writes it."""
    checkpoints: dict[str, Checkpoint] = field(default_factory=dict)
    """By the path of the file, or of the first shard."""

    @property
    def home(self) -> str | None:
        """HOME of a container; None where it is the image's own."""
        return CACHE if self.cached else None

    @property
    def inside(self) -> str:
        """models_dir as the server sees it."""
        return INSIDE if self.host.runtime == "podman" else self.models_dir

    def write_models(self) -> None:
        """Let the server write to models_dir itself, because it fetches its model."""
        self._reach(self.models_dir, ("models_dir",), writable=True)
        if self.host.runtime == "podman":
            self._mount(self.models_dir, INSIDE, ("models_dir",))

    def _reach(self, source: str, at: Path, *, writable: bool) -> None:
        wrong = reach.path_refusal(source, self.host.home, writable=writable)
        if wrong is not None:
            self._refuse(wrong[1], at, wrong[2], wrong[0])

    def _mount(self, source: str, target: str, at: Path) -> None:
        if ":" in source:
            self._refuse(f"{source} has a colon, which ends a path in Volume=", at)
        options = "z" if self.writable and target == INSIDE else "ro,z"
        self.mounts[target] = Mount(source=source, target=target, options=options)

    def _refuse(self, message: str, at: Path, hint: str | None = None, code: str = "unsafe-value") -> None:
        if at[0] == "models":
            self.ask.elsewhere(Problem(code=code, message=message, path=at, hint=hint))
        else:
            self.ask.add(code, message, *at, hint=hint)

    def place(self, name: str, *at: str) -> str:
        """The path of a file as the server sees it. `name` is below models_dir, or absolute, or below ~/.

        `at` is where the fleet names it: a field of the service, or a path that begins with `models`.
        """
        path = at_home(name, self.host)
        path = clean(path if path.startswith("/") else posixpath.join(self.models_dir, path))
        self._shards(path, name, at)
        if name in self.recorded:
            self.checkpoints[path] = Checkpoint(files=tuple(shards(path)), size=self.recorded[name].size)
        if self.host.runtime == "systemd":
            return path
        if covers(self.models_dir, path):
            if INSIDE not in self.mounts:
                self._reach(self.models_dir, ("models_dir",), writable=False)
            self._mount(self.models_dir, INSIDE, ("models_dir",))
            self.seen.append(posixpath.join(INSIDE, path.removeprefix(f"{self.models_dir}/")))
            return self.seen[-1]
        directory = posixpath.dirname(path)
        if hides(directory):
            message = f"mounting {directory} for {name} would hide the container's own"
            self._refuse(message, at, "move the file to a directory of its own")
        elif covers(INSIDE, directory) or (self.cached and covers(CACHE, directory)):
            message = f"{directory} is taken in the container, so {name} cannot be seen at its own path"
            self._refuse(message, at, f"set `models_dir: {directory}`, or move the file")
        elif reaches_speculation_path(directory, home=self.home):
            message = f"{directory} is where llama-server reads a config.ini, which reaches speculation"
            self._refuse(message, at, "move the file", "speculation-outside-profile")
        else:
            self._reach(directory, at, writable=False)
        self._mount(directory, directory, at)
        self.seen.append(path)
        return path

    def _shards(self, path: str, name: str, at: Path) -> None:
        found = _SHARD.fullmatch(path)
        if found is None:
            if path not in self.files:
                self.files.append(path)
            return
        if found[2] != "00001":
            self._refuse(f"{name} is not the first shard", at, "name the file -00001-of-...", "unexpected-value")
        elif not 1 <= int(found[3]) <= _MOST_SHARDS:
            message = f"{name} is one of {int(found[3])} shards, and a checkpoint has 1 to {_MOST_SHARDS}"
            self._refuse(message, at, code="unexpected-value")
        else:
            self.files.extend(part for part in shards(path) if part not in self.files)


def at_home(path: str, host: Host) -> str:
    """`~/` is the home of the host's user."""
    return posixpath.join(host.home, path[2:]) if path.startswith("~/") else path


_OPTIONS = tuple(
    frozenset(group.split())
    for group in (
        "ro rw",
        "z Z",
        "copy nocopy",
        "dev nodev",
        "exec noexec",
        "suid nosuid",
        "bind rbind",
        "private rprivate shared rshared slave rslave unbindable runbindable",
        "O",
        "U",
        "idmap",
        "noatime",
    )
)
"""Options of podman-run(1)'s --volume; of each group Podman takes one at most."""
_VOLUME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*\.volume")


def volume(text: str, ask: Reporter, host: Host, shelf: Shelf, program: str) -> Mount | None:
    """One entry of `volumes`, Podman's src:dst[:options]; None after a refusal.

    `program` is what the container runs, which no mount may hide.
    """
    parts = text.split(":")
    if len(parts) not in (2, 3) or "" in parts:
        hint = "write /on/the/host:/in/the/container:ro,z; a path with a colon cannot be mounted by Volume="
        ask.add("unsafe-value", f"{text!r} is no src:dst[:options]", "volumes", hint=hint)
        return None
    source, target, options = at_home(parts[0], host), parts[1], parts[2] if len(parts) > 2 else ""  # noqa: PLR2004 - the third part
    wrong: _Refusal | None = (
        _source(source) or _target(target, shelf, program) or _options(options, host) or _reached(source, options, host)
    )
    if wrong is not None:
        ask.add(wrong[0], wrong[1], "volumes", hint=wrong[2])
        return None
    return Mount(source=source, target=target, options=options)


_Refusal = tuple[str, str, str | None]
"""A code, a message and a hint."""


def _source(source: str) -> _Refusal | None:
    if not source.startswith("/"):
        if _VOLUME.fullmatch(source):
            return None
        named = "/" not in source
        return (
            "unsafe-value",
            f"{source!r} names a volume that nothing declares" if named else f"{source!r} is no absolute path",
            "write an absolute path, one below ~/, or NAME.volume for a Quadlet volume",
        )
    dots = "/../" in f"{source}/"
    return ("unsafe-value", f"{source!r} is no absolute path without ..", None) if dots else None


def _reached(source: str, options: str, host: Host) -> _Refusal | None:
    if not source.startswith("/"):
        return None
    writable = not {"ro", "O"}.intersection(options.split(","))  # an overlay keeps what is written to itself
    return reach.path_refusal(clean(source), host.home, writable=writable)


def _target(written: str, shelf: Shelf, program: str) -> _Refusal | None:
    if not written.startswith("/") or "/../" in f"{written}/":
        return "unsafe-value", f"{written!r} is no absolute path without ..", None
    target = clean(written).rstrip("/") or "/"
    if reaches_speculation_path(target, home=shelf.home):
        message = f"{target} is where llama-server reads a config.ini, which reaches speculation"
        return "speculation-outside-profile", message, "mount it elsewhere"
    if hides(target, program):
        return "unsafe-value", f"a mount at {target} would hide the container's own", "mount it elsewhere"
    if target not in shelf.mounts and any(covers(target, file) for file in shelf.seen):
        return "unsafe-value", f"a mount at {target} would hide a file that the service is given", "mount it elsewhere"
    return None


def _options(text: str, host: Host) -> _Refusal | None:
    options = text.split(",") if text else []
    for group in _OPTIONS:
        given = [option for option in options if option in group]
        if len(given) > 1:
            return "unsafe-value", f"Podman takes one of the mount options {' and '.join(given)}", "keep one"
    for option in options:
        if not any(option in group for group in _OPTIONS):
            return "unsafe-value", f"{option!r} is no mount option", "such as ro, z, nodev"
    if "Z" in options and host.selinux != "disable":
        return "unsafe-value", "`Z` makes the files this container's alone, and another service loses them", "use z"
    return None
