"""One service, from its layers to a resolution: every decision in order, or every reason why not."""

from dataclasses import dataclass
from functools import partial

from quadgen.engines import drafters
from quadgen.engines.base import Ask, Engine, Paths
from quadgen.engines.registry import ENGINES
from quadgen.engines.side_doors import reaches_speculation_flag
from quadgen.facts import kv
from quadgen.problems import Problem, Severity
from quadgen.resolution import (
    Argument,
    Decision,
    Devices,
    EngineEntry,
    Host,
    Model,
    Resolution,
    Share,
    Variable,
)
from quadgen.resolve import (
    cards,
    choice,
    closed,
    device_names,
    extras,
    files,
    literals,
    network,
    overrides,
    program,
    timing,
    told_paths,
)
from quadgen.resolve.gate import Gate, decide, unspeculating
from quadgen.resolve.recorded import check_context, check_loads, known
from quadgen.resolve.report import Reporter
from quadgen.resolve.structure import Wish

_NOWHERE = network.Address(
    listen="127.0.0.1", ports=(), networks=(), binds=None, beyond_loopback=False, inside=True,
)  # fmt: skip
"""Stands in for an address that was refused; as inside of a container, where an engine has nothing against it."""
UNKNOWN_CONTEXT = 8192
"""Tokens where nobody knows what the model was trained for: the least that current models were."""
LONGEST_UNASKED = 32768
"""Tokens of a context that nobody asked for, however long the model was trained."""


_UNKNOWN = Model(
    name="unknown", id="unknown", file="unknown.gguf", hf=None, url=None, mtp=None, mmproj=None,
    chat_template_file=None, size=None,
)  # fmt: skip
"""Stands in for a model that was refused, so that the rest of its service is checked too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
    """What a service is, before anything of it is worked out."""

    backend: str
    engine: EngineEntry
    model: Model
    cap: int | None


def _context(ask: Reporter, kind: Engine, model: Model, cap: int | None) -> tuple[int, str | None]:
    """Tokens of one conversation, and a sentence where nobody says them. `cap` is what fits, where that is less."""
    context: int | None = ask.get("context", kind.context)
    if context is not None:
        check_context(ask, model, context)
        return context, None
    if model.facts is not None:
        return _fitting(model.name, kv.trained(model.facts), cap)
    if model is not _UNKNOWN and not ask.broken("context"):
        ask.elsewhere(
            Problem(
                code="context-unknown",
                message=f"nobody says what context {model.name} was trained for, so it gets {UNKNOWN_CONTEXT} tokens",
                severity=Severity.WARNING,
                path=("models", model.name),
                at="key",
                hint="add `context:` to the service, its host or a group, or record the model: quadgen lock",
            )
        )
    return UNKNOWN_CONTEXT, None


def _fitting(name: str, trained: int | None, cap: int | None) -> tuple[int, str]:
    """The longest context up to `LONGEST_UNASKED` that the model was trained for, and that fits."""
    most = min(LONGEST_UNASKED, trained or LONGEST_UNASKED)
    of = f"{name} was trained for {trained}" if trained else f"nobody says what {name} was trained for"
    if cap is not None and cap < most:
        return cap, f"context: nobody says one, and {cap} tokens fit beside the rest; {of}"
    return most, f"context: nobody says one, so it is {most} tokens; {of}"


def _keyed(ask: Reporter, engine: EngineEntry) -> bool:
    """Whether a secret is the key by the variable that the server reads for it."""
    option = engine.table.find("--api-key")
    return option is not None and (ask.get("secrets") or {}).get(option.env) is not None


def _exposed(ask: Reporter, kind: Engine, engine: EngineEntry, place: network.Address, key: str | None) -> bool:
    """Whether the server is open beyond loopback without a key, which policy may refuse."""
    if not place.beyond_loopback or key is not None or _keyed(ask, engine):
        return False
    open_to_all = "api-key-file" not in (ask.get("flags") or {})
    if open_to_all and ask.get("api_key") is not False and not ask.broken("api_key"):
        refuse = (ask.fleet.data.get("policy") or {}).get("exposed", "refuse") == "refuse"
        closed_to = "put a proxy before it" if "api_key" in kind.closed else "add `api_key: {secret: NAME}`"
        ask.add(
            "exposed",
            f"{ask.get('bind')} is reached from other machines, and the server has no API key",
            "bind",
            severity=Severity.ERROR if refuse else Severity.WARNING,
            hint=f"{closed_to}, or `api_key: false` if it is open on purpose",
        )
    return open_to_all


def _paths(ask: Reporter, kind: Engine, shelf: files.Shelf, model: Model, decision: Decision) -> Paths:
    def said(key: str) -> tuple[str, ...]:
        return (key,) if ask.chain.said(key) else ("models", model.name, key)

    mmproj = closed.of_model(ask, kind, model, "mmproj")
    template = closed.of_model(ask, kind, model, "chat_template_file")
    draft = decision.draft_model
    if draft is not None and draft.file is None:
        ask.add("unexpected-value", f"the draft model {draft.name} is no local file", "profile", hint="give it `file:`")
    for name in ask.get("lora") or ():
        if "," in name:
            ask.add("unsafe-value", f"{name!r} has a comma, which separates two adapters", "lora", hint="rename it")
    head = decision.head_file
    checkpoint = (
        shelf.place(model.file, "models", model.name, "file") if model.file else f"{shelf.inside}/{_fetched(model)}"
    )
    for name in kind.companions(ask, model.file) if model.file else ():
        shelf.place(name, "models", model.name, "file")
    return Paths(
        models_dir=shelf.inside,
        model=checkpoint,
        mmproj=shelf.place(mmproj, *said("mmproj")) if mmproj else None,
        chat_template_file=shelf.place(template, *said("chat_template_file")) if template else None,
        lora=tuple(shelf.place(name, "lora") for name in ask.get("lora") or ()),
        draft_model=shelf.place(draft.file, "models", draft.name, "file") if draft is not None and draft.file else None,
        head=shelf.place(head, "models", model.name, "mtp") if head else None,
    )


def _fetched(model: Model) -> str:
    return (model.url or "").partition("?")[0].rpartition("/")[2]


def resolve(
    ask: Reporter, host: Host, gate: Gate, services: frozenset[str], cap: int | None = None
) -> Resolution | None:
    """Decide one service; None where anything of it is refused or missing.

    `cap` is what a context has at most, in tokens, where nobody says one.
    """
    before = len(ask.collector.problems)
    backend = choice.backend(ask, gate.catalog)
    model = choice.model(ask, gate.catalog)
    engine = choice.engine(ask, gate.catalog, backend) if backend is not None else None
    if backend is None or engine is None:
        overrides.check(ask, host, None)
        return None
    what = _Choice(backend=backend, engine=engine, model=model or _UNKNOWN, cap=cap)
    found = _resolve(ask, host, gate, services, what)
    if model is None:
        return None
    refused = any(problem.severity is Severity.ERROR for problem in ask.collector.problems[before:])
    # an engine without a usable image or program was refused where it stands
    return found if not refused and found is not None and (found.image or found.binary) else None


def _resolve(ask: Reporter, host: Host, gate: Gate, services: frozenset[str], what: _Choice) -> Resolution | None:
    """Every decision goes on with a stand-in where an earlier one was refused, so that one run reports them all."""
    backend, engine, model = what.backend, what.engine, what.model
    kind = ENGINES[engine.kind]
    ask = closed.left_open(ask, host, kind, model)
    rules = kind.devices(backend)
    seen = cards.devices(ask, host, backend, rules) or Devices()
    mmproj = closed.of_model(ask, kind, model, "mmproj")
    wish = Wish(
        engine=engine, backend=backend, model=model, cards=seen.measured_as,
        draft_model=choice.model(ask, gate.catalog, "draft_model"), mmproj=mmproj is not None,
    )  # fmt: skip
    decided = decide(ask, wish, gate) if model is not _UNKNOWN and check_loads(ask, model) else None
    decision = decided or unspeculating(gate)
    port: int = ask.get("port", kind.port)
    place = network.address(ask, host, port) or _NOWHERE
    boxed = host.runtime == "podman" and kind.box.read_only
    own = _variables(ask, host, kind, seen)
    run = engine.entrypoint[0] if engine.entrypoint else kind.program
    decided_variables = {variable.name: variable.value for variable in own}
    secrets, key_file, key = extras.secrets(ask, host, engine, decided_variables, run)
    image = program.image(ask, engine, kind, backend) if host.runtime == "podman" else ""
    native = host.runtime == "systemd" and "systemd" in kind.runtimes
    binary = program.binary(ask, engine, host) if native else ""
    drafts = decided is None or bool(drafters.drafts(decision.types))
    device_names.check(ask, engine, backend, seen, kind, drafts=drafts)
    models_dir = files.clean(files.at_home(ask.get("models_dir", "/srv/models"), host)).rstrip("/") or "/"
    shelf = files.Shelf(
        ask, host, models_dir, writable=model.file is None, cached=kind.box.read_only, recorded=gate.catalog.files
    )
    context, reason = _context(ask, kind, model, what.cap)
    asking = Ask(
        report=ask, host=host, engine=engine, backend=backend, model=model, decision=decision, devices=seen,
        paths=_paths(ask, kind, shelf, model, decision), listen=place.listen, port=port,
        context=context, known=known(model, decision.draft_model, mmproj, gate.catalog.files),
        api_key_file=key_file, exposed=_exposed(ask, kind, engine, place, key), boxed=place.inside,
    )  # fmt: skip
    if model.file is None:
        shelf.write_models()
    arguments = kind.arguments(asking)
    _carried(ask, host, arguments)
    mounts = extras.mounts(ask, host, shelf, cache=boxed, program=run)
    if ask.get("flags") or ask.get("extra_args"):
        told_paths.check(ask, host, kind, shelf, mounts, secrets, kind.paths(engine.table, arguments))
    start = timing.start_timeout(ask, model, kind.start_timeout)
    timing.start_period(ask, start)
    stop: int = ask.get("stop_timeout", timing.STOP)
    return Resolution(
        host=host, name=ask.service or kind.service, engine=engine, backend=backend, model=model, decision=decision,
        arguments=arguments, environment=extras.environment(ask, engine, (*own, *kind.environment(asking))),
        memory=kind.memory(asking, arguments), context=context, elastic=reason is not None,
        reckon=partial(_reckon, kind, asking, arguments), devices=seen, image=image or "", binary=binary or "",
        entrypoint=engine.entrypoint, mounts=mounts,
        files=tuple(shelf.files), checkpoints=tuple(shelf.checkpoints.values()),
        writable=(shelf.models_dir,) if shelf.writable else (), ports=place.ports,
        networks=place.networks, port=port, binds=place.binds, secrets=secrets, api_key=key,
        exposed=place.beyond_loopback, fetches=model.file is None, probe=kind.probe(asking),
        restart=timing.restart(ask, host, start, stop), start_timeout=start, stop_timeout=stop,
        limits=timing.limits(ask, kind.memlock(arguments)),
        pull=ask.get("pull", "missing"), auto_update=ask.get("auto_update"), autostart=ask.get("autostart", True),
        after=extras.peers(ask, "after", services), conflicts=extras.peers(ask, "conflicts", services),
        labels=extras.labels(ask), overrides=overrides.check(ask, host, binary),
        notes=tuple(filter(None, (engine.table_note, reason))),
    )  # fmt: skip


def _reckon(kind: Engine, asking: Ask, arguments: tuple[Argument, ...], context: int) -> tuple[Share, ...]:
    """What a service takes of memory with another context."""
    return kind.memory(*kind.with_context(asking, arguments, context))


def _variables(ask: Reporter, host: Host, kind: Engine, seen: Devices) -> tuple[Variable, ...]:
    """What a service has in its environment before its engine says anything of what was decided."""
    native = host.runtime == "systemd"
    home = f"%C/{ask.service}" if native else files.CACHE if kind.box.read_only else None
    return (
        *(() if home is None else (Variable("HOME", home, "rule: caches of shaders and compiled kernels are kept"),)),
        *(Variable(name, value, "rule: no configuration of the user's is read") for name, value in kind.variables),
        *(Variable(name, value, "devices") for name, value in seen.env),
    )


def _carried(ask: Reporter, host: Host, arguments: tuple[Argument, ...]) -> None:
    """Refuse what no Quadlet carries in Exec=, and values that a build with other flags would take for a side door."""
    if literals.is_secret("\n".join([str(word) for argument in arguments for word in argument.words])):
        for argument in arguments:
            if argument.why != "model" and any(literals.is_secret(str(word)) for word in argument.words):
                code, message, hint = literals.refusal(f"`{argument.why}`")
                ask.add(code, message, *argument.keys, hint=hint)
    for argument in arguments:
        words = argument.words
        if host.runtime == "podman" and ("" in words or ";" in words):
            what = "an empty argument cuts off all later ones" if "" in words else "a lone ; ends the command"
            hint = "leave it out, or use runtime: systemd"
            ask.add("unsafe-value", f"{words[0]}: {what} in a Quadlet unit", *argument.keys, hint=hint)
        for word in words[1:]:
            if word.__class__ is str and word.startswith("-") and reaches_speculation_flag(word):
                message = f"{words[0]} is given {word}, which reaches speculation in a build that reads it as a flag"
                ask.add("speculation-outside-profile", message, *argument.keys, hint="choose another value")
