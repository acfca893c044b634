"""A checkpoint and a server program without a fleet, measured by the rules of one: a fleet of one host, made in memory.

What is wrong with it is said in the words of the options that it was made of, since nobody wrote a file.
"""

import json
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from quadgen.engines.drafters import DRAFTERS, drafts
from quadgen.engines.flags import FlagTable, dump_table
from quadgen.engines.registry import ENGINES
from quadgen.facts import lock_file
from quadgen.facts.record import Facts, Lock
from quadgen.measuring import arms as deciding
from quadgen.measuring.arms import Arms
from quadgen.measuring.workloads import usual
from quadgen.pipeline import Compiled, compile_fleet
from quadgen.problems import Problem, Rejected, Unavailable
from quadgen.speculation import BUILTIN
from quadgen.tree import Template

HOST: Final = "here"
"""What the only host of such a fleet is called."""
_FLEET: Final = "fleet.yml"
_LOCK: Final = "models.lock.yml"
_FLAGS: Final = "flags.json"
_DRAFTER: Final = "the drafter"
_KIND: Final = "llama.cpp"
_FIELDS: Final[Mapping[str, str]] = {
    "--device": "devices", "--parallel": "slots", "--cache-type-k": "k", "--cache-type-v": "v",
}  # fmt: skip
"""Options that a field of a host says."""
_RULES: Final = frozenset({"--fit", "--n-gpu-layers"})
"""Options that a rule decides unless the flags of a host say otherwise."""
_OPTIONS: Final[Mapping[str, str]] = {
    "context": "--context", "profile": "--profile", "backend": "--backend", "draft_model": "--draft-model",
    "spec_types": "--profile", "draft_n_max": "--draft-n-max", "against": "--against", "binary": "--server",
    "build": "--build", "slots": "--parallel", "devices": "--device", "extra_args": "--server-args",
}  # fmt: skip
"""Which option a field was made of; any other field of the host was made of --server-args."""
_QUOTED: Final = re.compile(r"`(\w+)`")


@dataclass(frozen=True, slots=True, kw_only=True)
class Alone:
    """The options. Paths are absolute."""

    model: str
    server: str
    backend: str
    profile: str
    """A built-in one, or types as --spec-type names them."""
    against: str | None = None
    """The same, for what must be beaten; None is `default`, and `none` where that would be the same."""
    draft_n_max: int | None = None
    draft_model: str | None = None
    build: str | None = None
    server_args: tuple[str, ...] = ()
    context: int | None = None
    model_id: str | None = None
    """The checkpoint's name in ledgers; None is that of its file."""


@dataclass(frozen=True, slots=True)
class _Made:
    """The files of a fleet that nobody wrote; see `quadgen.pipeline.Files`."""

    files: Mapping[str, bytes]

    def read(self, name: str) -> bytes:
        """One of them."""
        if name not in self.files:
            raise Unavailable(f"there is no {name}")
        return self.files[name]

    def matching(self, pattern: str) -> list[str]:
        """The one of this name."""
        return [name for name in self.files if name == pattern]

    def templates(self) -> Mapping[str, Template]:
        """None: nothing is rendered."""
        return {}


def arms(asked: Alone, *, facts: Mapping[str, Facts], table: FlagTable) -> tuple[Compiled, Arms]:
    """Decide both arms. `facts` are those of checkpoint and draft model, by path, `table` is that of the program.

    Both arms may be the same where `against` says so. Raises `Rejected`, whose problems name options.
    """
    found = compiled(asked, facts=facts, table=table)
    try:
        both = deciding.arms(found, HOST, None, asked.profile, alike=asked.against is not None)
    except Rejected as rejected:
        raise Rejected(_worded(rejected.problems)) from None
    return found, replace(both, problems=tuple(_worded(both.problems)))


def compiled(asked: Alone, *, facts: Mapping[str, Facts], table: FlagTable) -> Compiled:
    """The fleet of these options; see `arms`."""
    fleet = _fleet(asked, table)
    files = {
        _FLEET: json.dumps(fleet, ensure_ascii=False).encode(),
        _LOCK: lock_file.dump(Lock(files=dict(facts))).encode(),
        _FLAGS: dump_table(table).encode(),
    }
    try:
        return compile_fleet(_FLEET, _Made(files), advisory=True)
    except Rejected as rejected:
        raise Rejected(_worded(rejected.problems)) from None


def _fleet(asked: Alone, table: FlagTable) -> dict[str, Any]:
    name = _stem(asked.model)
    # also a program that has other backends is told to leave them alone
    backends = [asked.backend] if asked.backend != "cpu" else ["cpu", "vulkan"]
    engine = {"kind": _KIND, "backends": backends, "binary": asked.server, "flags": _FLAGS}
    models: dict[str, Any] = {name: {"file": asked.model, "id": asked.model_id or name}}
    if asked.draft_model is not None and "draft-mtp" in asked.profile.split(","):
        models[name]["mtp"] = asked.draft_model
    elif asked.draft_model is not None:
        models[_DRAFTER] = {"file": asked.draft_model, "id": _stem(asked.draft_model)}
    host: dict[str, Any] = {"runtime": "systemd", "model": name, "backend": asked.backend, **_told(asked, table)}
    host |= {} if asked.context is None else {"context": asked.context}
    return {
        "version": 1,
        "measurements": [],
        "engines": {"llama-server": engine | ({} if asked.build is None else {"build": asked.build})},
        "models": models,
        "profiles": dict(_profiles(asked)),
        "hosts": {HOST: host},
    }


def _stem(path: str) -> str:
    """The name of a checkpoint by its file, without the number of a shard."""
    return re.sub(r"(?:-\d{5}-of-\d{5})?\.gguf$", "", posixpath.basename(path)) or path


def _profiles(asked: Alone) -> Iterator[tuple[str, dict[str, Any]]]:
    """The profiles that no fleet has by itself. Raises `Rejected` for options that those have already."""
    against, types = asked.against, _types("--profile", asked.profile)
    if types is None:
        for option, value in (
            ("--against", against), ("--draft-n-max", asked.draft_n_max), ("--draft-model", asked.draft_model)
        ):  # fmt: skip
            if value is not None:
                spec = BUILTIN[asked.profile]
                hint = f"name its types instead: --profile {','.join(spec.spec_types)}"
                raise _refused(f"{option}: the profile {spec.name} says that itself", hint)
        return
    for option, given in (("--draft-n-max", asked.draft_n_max), ("--draft-model", asked.draft_model)):
        if given is not None and not drafts(types):
            raise _refused(f"{option} is for draft-* types, and {asked.profile} has none", "leave it out")
    if against is None:
        against = "none" if types == ["draft-mtp"] and asked.draft_n_max is None else "default"
    others = _types("--against", against)
    if others is not None:
        against = against if against != asked.profile else f"{against} again"
        yield against, _profile(asked, others, "none")
    yield asked.profile, _profile(asked, types, against)


def _profile(asked: Alone, types: list[str], against: str) -> dict[str, Any]:
    """The workload is what such drafters are for; a ledger's row of any other is as good."""
    fields: dict[str, Any] = {"spec_types": types, "against": against, "workload": usual(types)}
    if asked.draft_n_max is not None and drafts(types):
        fields["draft_n_max"] = asked.draft_n_max
    if any(kind != "draft-mtp" for kind in drafts(types)):
        if asked.draft_model is None:
            raise _refused(f"{drafts(types)[0]} needs a draft model", "name its file with --draft-model")
        fields["draft_model"] = _DRAFTER
    return fields


def _types(option: str, text: str) -> list[str] | None:
    """Types as --spec-type names them; None for a built-in profile. Raises `Rejected` for what is neither."""
    if text in BUILTIN:
        return None
    types = [part.strip() for part in text.split(",")]
    for kind in types:
        if kind not in DRAFTERS:
            known = f"known: {', '.join((*BUILTIN, *DRAFTERS))}"
            raise _refused(f"{option}: {kind!r} is neither a built-in profile nor a drafter type", known)
    return types


def _told(asked: Alone, table: FlagTable) -> dict[str, Any]:
    """What the arguments of the user's own become: fields of the host, flags, and the rest as it is."""
    rules = ENGINES[_KIND].devices(asked.backend)
    said: dict[str, Any] = {} if rules is None else {"devices": [f"{rules.prefix}0"]}
    flags: dict[str, str] = {}
    cache: dict[str, str] = {}
    rest: list[str] = []
    words = list(asked.server_args)
    while words:
        name = words.pop(0)
        option = table.find(name)
        own = option.canonical if option is not None else name
        if option is None or option.arity != 1 or not words or own not in {*_FIELDS, *_RULES}:
            rest.append(name)
            continue
        value = words.pop(0)
        if own in _RULES:
            flags[own.removeprefix("--")] = value
        elif own == "--device":
            said["devices"] = value.split(",")
        elif own == "--parallel":
            said["slots"] = int(value) if value.isdecimal() else value
        else:
            cache[_FIELDS[own]] = value
    said |= {"flags": flags} if flags else {}
    said |= {"cache_type": cache} if cache else {}
    return said | ({"extra_args": rest} if rest else {})


def _refused(message: str, hint: str) -> Rejected:
    return Rejected([Problem(code="unexpected-value", message=message, hint=hint)])


def _worded(problems: Iterable[Problem]) -> list[Problem]:
    """The same without places of a file that is not there, and with options for the fields of a fleet."""
    return [_of_options(each) for each in problems]


def _of_options(problem: Problem) -> Problem:
    message, hint = _in_options(problem.message), _in_options(problem.hint or "")
    if "--" not in message:
        message = f"{_option(problem)}: {message}"
    speaks = hint and not any(sign in hint for sign in "`{")  # else of fields that no option stands for
    return replace(
        problem, message=message, hint=hint if speaks else None, file=None, path=None, place=None, label="", host=None,
        service=None,
    )  # fmt: skip


def _in_options(text: str) -> str:
    return _QUOTED.sub(lambda found: _OPTIONS.get(found[1], found[0]), text)


def _option(problem: Problem) -> str:
    """The option that a problem is of."""
    path = [str(part) for part in problem.path or ()]
    match path:
        case ["models", name, *_]:
            return "--draft-model" if name == _DRAFTER else "MODEL"
        case ["engines", _, field, *_]:
            return _OPTIONS.get(field, "--server")
        case ["profiles", _, field, *_]:
            return _OPTIONS.get(field, "--profile")
        case ["hosts", _, field, *_]:
            return _OPTIONS.get(field, "--server-args")
    return "--profile"
