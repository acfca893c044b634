"""Which files of a fleet have facts to record, and where its lock and what it declares disagree."""

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from quadgen.facts.amounts import amount
from quadgen.facts.lock_text import entry
from quadgen.facts.record import Facts, Lock
from quadgen.fleet.load import Fleet
from quadgen.problems import Collector, Path, Problem
from quadgen.resolve.files import clean

DEFAULT: Final = "models.lock.yml"
MODELS_DIR: Final = "/srv/models"
_ENDINGS: Final = (".yml", ".yaml")
_TOLERANCE: Final = 0.05
"""How far a declared size may be from the file's: people round, and GB for GiB is 7% off."""
_DIGITS: Final = 16
"""Of a digest, as far as people compare them."""
_HALOGEN: Final = ".hgn"

Kind = Literal["file", "hf", "url"]


@dataclass(slots=True, kw_only=True)
class Named:
    """A checkpoint that a fleet names: a model, a drafter, an MTP head, a projector."""

    name: str
    """Its name in the lock: a file as the fleet writes it, `hf:` and what follows that key, an address."""
    kind: Kind
    path: Path
    """Where the fleet names it first."""
    models: list[str] = field(default_factory=list)
    """The keys of the models that it is of."""
    spots: list[str] = field(default_factory=list)
    """Where services expect the file: absolute paths on their hosts. Empty for what an engine fetches."""

    @property
    def is_gguf(self) -> bool:
        """Whether it is the kind of file that has a header to read."""
        return not self.name.endswith(_HALOGEN)

    def below(self, directory: str) -> str:
        """Where the file is in another models_dir: under its name, of an absolute one under its last part."""
        name = posixpath.basename(self.name) if self.name.startswith(("/", "~/")) else self.name
        return posixpath.join(directory, name)


def file_name(fleet: Fleet, sink: Collector) -> str | None:
    """The name of the fleet's lock, relative to the fleet file; None after a refusal.

    A refusal of a lock quotes it, and so its name says that it is one.
    """
    name = fleet.data.get("lock") or DEFAULT
    if name.endswith(_ENDINGS):
        return name
    message, hint = f"{name} is no lock by its name", f"a lock ends in .yml, such as {DEFAULT}"
    sink.add(Problem(code="unexpected-value", message=message, path=("lock",), hint=hint))
    return None


def literal_pattern(name: str) -> str:
    """The glob pattern that matches a file of this name and no other."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in name)


def name_of(fields: Mapping[str, Any]) -> str | None:
    """The name in the lock of the checkpoint of a model; None where the fleet does not say where it is."""
    if "file" in fields:
        return str(fields["file"])
    return f"hf:{fields['hf']}" if "hf" in fields else fields.get("url")


def named(fleet: Fleet) -> list[Named]:
    """Every checkpoint that a fleet names, sorted by name; adapters, which change neither head nor size, are left out.

    Models count whether a host uses them or not: a drafter, for one, is named by a profile.
    """
    found: dict[str, Named] = {}
    models = fleet.data.get("models") or {}
    for key, fields in models.items():
        for name, kind, path in _of_model(key, fields):
            one = found.setdefault(name, Named(name=name, kind=kind, path=path))
            one.models.append(key)
    for directory, home, key, projector in _uses(fleet):
        names = [name for name, kind, _ in _of_model(key, models.get(key) or {}) if kind == "file"]
        if projector is not None:
            name, path = projector
            one = found.setdefault(name, Named(name=name, kind="file", path=path))
            if key not in one.models:
                one.models.append(key)
            names.append(name)
        for name in names:
            spot = _spot(name, directory, home)
            if spot not in found[name].spots:
                found[name].spots.append(spot)
    below: Any = fleet.data.get("defaults") or {}
    for one in found.values():
        if one.kind == "file" and not one.spots:
            one.spots.append(_spot(one.name, below.get("models_dir") or MODELS_DIR, _home(below)))
    return sorted(found.values(), key=lambda one: one.name)


def _of_model(key: str, fields: Any) -> Iterator[tuple[str, Kind, Path]]:  # noqa: ANN401 - the fields of any model
    """What one model consists of: its name in the lock, its kind and where the fleet says it."""
    path: Path = ("models", key)
    name = name_of(fields)
    if name is not None:
        kind: Kind = "file" if "file" in fields else "hf" if "hf" in fields else "url"
        yield name, kind, (*path, kind)
    for other in ("mtp", "mmproj"):
        if isinstance(fields.get(other), str):
            yield fields[other], "file", (*path, other)


def _uses(fleet: Fleet) -> Iterator[tuple[str, str, str, tuple[str, Path] | None]]:
    """Each use of a model by a service: models_dir, home, the model's key, and a projector of the service's own."""
    profiles = fleet.data.get("profiles") or {}
    for host, fields in fleet.data["hosts"].items():
        services: Any = (fields or {}).get("services") or (None,)
        for service in services:
            chain = fleet.chain(host, service)
            said = chain.fields
            home = _home(said)
            directory = said.get("models_dir") or MODELS_DIR
            key, projector = said.get("model"), said.get("mmproj")
            if key is not None:
                own = (projector, chain.origin("mmproj")) if isinstance(projector, str) else None
                yield directory, home, key, own
            profile: Any = profiles.get(said.get("profile") or "") or {}
            for drafter in (said.get("draft_model"), profile.get("draft_model")):
                if drafter is not None:
                    yield directory, home, drafter, None


def _home(fields: Mapping[str, Any]) -> str:
    user = fields.get("rootless")
    return fields.get("home") or (f"/home/{user}" if user else "/root")


def _spot(name: str, directory: str, home: str) -> str:
    path = name if name.startswith("~/") else posixpath.join(directory, name)
    return clean(posixpath.join(home, path[2:]) if path.startswith("~/") else path)


def contradictions(fleet: Fleet, lock: Lock) -> Iterator[Problem]:
    """Where what a model declares cannot be true of the file that the lock has: `size-conflict`."""
    for key, fields in (fleet.data.get("models") or {}).items():
        declared, facts = fields.get("size"), lock.files.get(name_of(fields) or "")
        if declared is None or facts is None or abs(declared - facts.size) <= _TOLERANCE * facts.size:
            continue
        yield Problem(
            code="size-conflict",
            message=f"{key} is declared as {amount(declared)}, and its file has {amount(facts.size)}",
            path=("models", key, "size"),
            notes=(f"the lock has {facts.size} bytes for {name_of(fields)}",),
            hint="leave `size` out: the lock says it",
        )


def changes(old: Facts, new: Facts) -> list[str]:
    """What differs between what the lock has and what a file says, in words; empty where nothing does."""
    told = []
    if old.size != new.size:
        told.append(f"size: {old.size} bytes in the lock, {new.size} in the file")
    if old.shards != new.shards:
        told.append(f"shards: {old.shards} in the lock, {new.shards} in the file")
    if old.header != new.header:
        told.append(f"header: {old.header[:_DIGITS]}... in the lock, {new.header[:_DIGITS]}... in the file")
    if not told and list(entry("", old)) != list(entry("", new)):
        told.append("the header is the same, and the lock says something else of it than this quadgen")
    return told


def renewed(old: Lock, asked: Iterable[Named], read: Mapping[str, Facts], *, whole: bool) -> Lock:
    """The lock after some files were read; what could not be had keeps what the lock has of it.

    Where the `whole` fleet was `asked` for, what it does not name any more goes.
    """
    names = {one.name for one in asked}
    kept = {name: facts for name, facts in old.files.items() if name in names or not whole}
    return Lock(files=kept | dict(read))
