"""The fleet's engines, models and profiles, each checked once, however many hosts use them."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from quadgen.engines.flags import Choice, FlagTable
from quadgen.engines.registry import ENGINES
from quadgen.engines.side_doors import doors_in, reaches_speculation_flag
from quadgen.facts.record import Facts
from quadgen.fleet.load import Fleet
from quadgen.problems import Collector, Path, Problem, Severity
from quadgen.resolution import EngineEntry, Model
from quadgen.resolve import literals, profiles
from quadgen.resolve.recorded import with_facts
from quadgen.speculation import ProfileSpec

Tables = Callable[[str, str | None], Choice]
"""The flag table for a kind and a build."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """What hosts may name."""

    engines: Mapping[str, EngineEntry]
    models: Mapping[str, Model]
    profiles: Mapping[str, ProfileSpec]
    files: Mapping[str, Facts]
    """What is recorded of checkpoints, by the name of the file."""


_IMAGE: Final = re.compile(
    r"[A-Za-z0-9.-]+(?::[0-9]+)?(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)+"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?"
)
"""The grammar of distribution/reference: a registry, a path, a tag, a digest."""
_PROGRAM: Final = re.compile(r"[A-Za-z0-9_./+@-]+")
_REPOSITORY: Final = re.compile(
    r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*(?::[A-Za-z0-9][\w.-]*|(?:/[A-Za-z0-9_][\w.-]*)+)?"
)
_KEYED: Final = re.compile(r"token|key|secret|signature|sig\b|auth|password", re.IGNORECASE)


def _image_problem(image: str) -> str | None:
    """Why Podman could not pull `image` without guessing, or None."""
    if any(blank in image for blank in " \t\"'\\") or image.startswith("-"):
        return "holds a character that no image reference has"
    if image.endswith((".image", ".build")):
        return "names a Quadlet unit; write the image itself"
    first, slash, _ = image.partition("/")
    if not slash or not ("." in first or ":" in first or first == "localhost"):
        return "names no registry, so what it pulls depends on the host's search list"
    return None if _IMAGE.fullmatch(image) else "is no image reference"


def check_image(image: str) -> tuple[str, str] | None:
    """A sentence and a hint where an image reference is unusable."""
    reason = _image_problem(image)
    return (f"the image {image} {reason}", "write REGISTRY/PATH:TAG, with @sha256:... to pin it") if reason else None


def _entrypoint(words: tuple[str, ...], table: FlagTable) -> Iterator[tuple[str, str, str | None]]:
    """What is wrong with an entrypoint: it starts the server, and says nothing that the fleet says elsewhere."""
    if words and not _PROGRAM.fullmatch(words[0]):
        yield "unsafe-value", f"{words[0]!r} is no program", "write a list: the program, then its arguments"
    for word in words:
        short = [part for part in word.split() if part.startswith("-") and reaches_speculation_flag(part)]
        for door in dict.fromkeys((*doors_in(word), *short)):
            yield "speculation-outside-profile", f"{door} reaches speculation, which only a profile may", None
        if word.startswith("--") and table.find(word) is not None and not reaches_speculation_flag(word):
            yield "duplicate-flag", f"{word} is a flag of the server, not of what starts it", "write it under `flags`"


def _stale(engine: str, file: str, build: str, learned: FlagTable, shipped: Choice) -> Problem:
    """Warn of a learned table that is another build's: what it has of a flag need not be so any more."""
    anew = f"learn it anew with each build: quadgen flags learn BINARY --build {build} -o {file}"
    return Problem(
        code="stale-build", severity=Severity.WARNING, path=("engines", engine, "flags"),
        message=f"the flag table {file} is of {learned.build}, and the engine is {build}",
        hint=f"leave `flags` out: the table of {build} comes with quadgen" if shipped.exact else anew,
    )  # fmt: skip


def _engines(fleet: Fleet, learned: Mapping[str, FlagTable], tables: Tables, sink: Collector) -> dict[str, EngineEntry]:
    found = {}
    for name, fields in (fleet.data.get("engines") or {}).items():
        path: Path = ("engines", name)
        complete = True
        for key in ("kind", "backends"):
            if key not in fields:
                complete = False
                if not fleet.is_broken((*path, key)):
                    hint = (
                        "add `kind: llama.cpp`"
                        if key == "kind"
                        else "add `backends: [vulkan]`, or what it is built with"
                    )
                    sink.add(
                        Problem(
                            code="missing-key",
                            message=f"the engine {name} has no `{key}`",
                            path=path,
                            at="key",
                            hint=hint,
                        )
                    )
        image = fields.get("image")
        if image and (wrong := check_image(image)):
            sink.add(Problem(code="unexpected-value", message=wrong[0], path=(*path, "image"), hint=wrong[1]))
        if not complete:
            continue
        for key, wrong_field in ENGINES[fields["kind"]].engine_refusals(fields):
            complete = False
            sink.add(Problem(code=wrong_field[0], message=wrong_field[1], path=(*path, key), hint=wrong_field[2]))
        if not complete:
            continue
        build = fields.get("build")
        table_path = fields.get("flags")
        choice = tables(fields["kind"], build)
        table, note = choice.table, choice.note
        if table_path is not None and table_path in learned:
            table, note = learned[table_path], None
            if build is not None and build != table.build:
                note = f"the flags are those of {table.build}, by {table_path}"
                sink.add(_stale(name, table_path, build, table, choice))
        for wrong_word in _entrypoint(tuple(fields.get("entrypoint") or ()), table):
            sink.add(Problem(code=wrong_word[0], message=wrong_word[1], path=(*path, "entrypoint"), hint=wrong_word[2]))
        found[name] = EngineEntry(
            name=name, kind=fields["kind"], build=build, backends=frozenset(fields["backends"]), image=image,
            binary=fields.get("binary"), entrypoint=tuple(fields.get("entrypoint") or ()), table=table, table_note=note,
        )  # fmt: skip
    return found


def _address(url: str) -> tuple[str, str, str | None] | None:
    """What is wrong with the address of a checkpoint, or None."""
    scheme, _, rest = url.partition("://")
    place, _, query = rest.partition("?")
    host, slash, path = place.partition("/")
    if (
        "@" in host
        or literals.is_secret(url)
        or any(_KEYED.search(field.partition("=")[0]) for field in query.split("&"))
    ):
        return (
            "literal-secret",
            "`url` holds a key",
            "use an address that needs none, or fetch the file and use `file:`",
        )
    if scheme not in ("http", "https") or not host or not url.isprintable() or " " in url:
        return "unexpected-value", "`url` takes an http or https address", None
    if not slash or path.rpartition("/")[2] in ("", ".", "..") or "#" in url:
        return "unexpected-value", "`url` takes the address of a file", "such as https://example.org/model.gguf"
    return None


def checked_models(fleet: Fleet, sink: Collector) -> dict[str, Model]:
    """The models of a fleet, with every mistake that can be seen without their files."""
    found = {}
    for name, fields in (fleet.data.get("models") or {}).items():
        path: Path = ("models", name)
        places = [key for key in ("file", "hf", "url") if key in fields]
        if not places:
            if not any(fleet.is_broken((*path, key)) for key in ("file", "hf", "url")):
                message = f"the model {name} says nowhere where it is"
                hint = "add `file:`, a name below models_dir or an absolute path"
                sink.add(Problem(code="missing-key", message=message, path=path, at="key", hint=hint))
            continue
        if len(places) > 1:
            message = f"the model {name} is in two places: {' and '.join(f'`{key}`' for key in places)}"
            sink.add(
                Problem(code="unexpected-value", message=message, path=(*path, places[1]), at="key", hint="keep one")
            )
            continue
        if "url" in fields and (wrong := _address(fields["url"])):
            sink.add(Problem(code=wrong[0], message=wrong[1], path=(*path, "url"), hint=wrong[2]))
        if "hf" in fields and not _REPOSITORY.fullmatch(fields["hf"]):
            hint = "write org/repo:quant or org/repo/file.gguf"
            sink.add(
                Problem(
                    code="unexpected-value", message="`hf` takes a repository of the hub", path=(*path, "hf"), hint=hint
                )
            )
        found[name] = Model(
            name=name, id=fields.get("id", name), file=fields.get("file"), hf=fields.get("hf"), url=fields.get("url"),
            mtp=fields.get("mtp"), mmproj=fields.get("mmproj"), chat_template_file=fields.get("chat_template_file"),
            size=fields.get("size"),
        )  # fmt: skip
    return found


def build(
    fleet: Fleet, learned: Mapping[str, FlagTable], tables: Tables, files: Mapping[str, Facts], sink: Collector
) -> Catalog:
    """Check everything that hosts may name; `learned` holds the flag tables that engines name, by path.

    `files` is what is recorded of checkpoints, by name.
    """
    models = {name: with_facts(model, files, sink) for name, model in checked_models(fleet, sink).items()}
    return Catalog(
        engines=_engines(fleet, learned, tables, sink),
        models=models,
        profiles=profiles.build(fleet, models, sink),
        files=files,
    )
