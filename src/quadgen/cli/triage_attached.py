"""Whether the drafter of `quadgen triage` can be attached: to a service of a fleet, to a halogen that runs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from quadgen.attachment import Drafter, attachable
from quadgen.cli import triage_values as values
from quadgen.cli import work
from quadgen.cli.servers import api_key
from quadgen.cli.triage_drafter import Chosen
from quadgen.engines.drafters import drafts
from quadgen.problems import Problem, Rejected
from quadgen.resolution import Resolution
from quadgen.server.client import connected
from quadgen.server.probe import Probed, Reply, probe
from quadgen.triage import Attachability, Started
from quadgen.triage import Drafter as Idea
from quadgen.triage.rows import figures_of, looked_up

WORKLOAD: Final = "prose"
"""Whose rows stand for the target where nobody says: what drafters find hardest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attaching:
    """The options as they were written; None where one was not."""

    fleet: str | None
    service: str | None
    workload: str | None
    draft_model: str | None
    draft_device: str | None
    beside: str | None
    probe: str | None
    api_key_file: str | None


def attached(
    options: Attaching, drafter: Chosen, width: str | None, *, numbers: bool, environ: Mapping[str, str]
) -> Attachability | None:
    """The answer of all that was asked; None where nothing was.

    Raises `Rejected` where it cannot be attached and there are no `numbers` to show beside that, and as
    `work.compiled` and `probe` do.
    """
    _check(options, values.named("--drafter", drafter.name))
    answers = list(_answers(options, drafter, values.widths("--width", width), environ))
    if not answers:
        return None
    said = {each.attachable for each in answers}
    found = Attachability(
        attachable=False if False in said else None if None in said else True,
        reasons=tuple(reason for each in answers for reason in each.reasons),
        problems=tuple(problem for each in answers for problem in each.problems),
        today=next((each.today for each in answers if each.today is not None), None),
        figures=next((each.figures for each in answers if each.figures is not None), None),
        looked_up=next((each.looked_up for each in answers if each.looked_up is not None), None),
        engine=next((each.engine for each in answers if each.engine is not None), None),
        started=next((each.started for each in answers if each.started is not None), None),
    )
    if found.attachable is False and not numbers:
        raise Rejected(found.problems)
    return found


def _check(options: Attaching, idea: Idea) -> None:
    """Refuse options that do not go together."""
    if options.fleet is None:
        for option, value in (
            ("HOST[/SERVICE]", options.service),
            ("--workload", options.workload),
            ("--draft-device", options.draft_device),
            ("--beside", options.beside),
        ):
            if value is not None:
                raise values.bad(option, "name the fleet with --fleet")
    elif options.service is None:
        raise values.bad("HOST[/SERVICE]", "say which service of the fleet the drafter is for")
    elif idea.spec_type is None and idea.name != "plain":
        raise values.bad("--drafter", f"for --fleet, name a type of llama-server: {idea.name!r} is a class of several")


def _answers(
    options: Attaching, chosen: Chosen, widths: tuple[int, ...], environ: Mapping[str, str]
) -> Iterator[Attachability]:
    if options.fleet is not None and options.service is not None:
        drafter = _drafter(options, values.named("--drafter", chosen.name), widths)
        yield _in_fleet(options.fleet, options.service, drafter, options.workload or WORKLOAD)
    if options.probe is not None:
        key = api_key(options.api_key_file)
        with connected(options.probe, environ=environ, api_key=key) as server:
            yield _of_probe(probe(server, chosen.probed))


def _drafter(options: Attaching, idea: Idea, widths: tuple[int, ...]) -> Drafter:
    types = (idea.spec_type or "draft-simple", *_types(options.beside))
    return Drafter(
        spec_types=types,
        draft_model=options.draft_model,
        draft_device=tuple(part.strip() for part in (options.draft_device or "").split(",") if part.strip()),
        draft_n_max=max(widths) if widths and drafts(types) and not idea.looks_up else None,
    )


def _types(beside: str | None) -> Iterator[str]:
    for name in (beside or "").split(",") if beside is not None else ():
        idea = values.named("--beside", name.strip())
        if idea.spec_type is None:
            raise values.bad("--beside", f"{name.strip()!r} is no type of llama-server")
        yield idea.spec_type


def _in_fleet(fleet: str, target: str, drafter: Drafter, workload: str) -> Attachability:
    host, _, service = target.partition("/")
    compiled = work.compiled(fleet, [host], about=host)
    found = attachable(compiled, host, service or None, drafter)
    here = next((each for each in compiled.resolved.hosts.get(host, ()) if each.name == found.service), None)
    return Attachability(
        attachable=found.attachable,
        reasons=(*found.reasons, *(f"measured: {each}" for each in found.measured)),
        problems=(*found.before, *found.problems, *found.evidence),
        today=None if here is None else here.decision.types,
        figures=None if here is None else figures_of(here, compiled.resolved.gate.ledger, workload),
        looked_up=looked_up(compiled.resolved.gate.ledger.rows),
        engine=None if here is None else here.engine.kind,
        started=None if found.resolution is None else _started(found.resolution),
    )


def _started(service: Resolution) -> Started | None:
    if service.host.runtime != "systemd" or service.engine.kind != "llama.cpp":
        return None
    return Started(
        program=service.binary,
        arguments=tuple(str(word) for argument in service.arguments for word in argument.words),
        environment=tuple((variable.name, variable.value) for variable in service.environment),
    )


def _of_probe(found: Probed) -> Attachability:
    answer = {Reply.REFUSED: False, Reply.TAKEN: True, Reply.NO_PROOF: None}[found.reply]
    closed = Problem(
        code="closed-engine",
        message=f"halogen does not draft with {found.drafter}",
        notes=() if found.words is None else (f"it says: {found.words}",),
        hint="take one that it has" if not found.available else f"it has {', '.join(found.available)}",
    )
    return Attachability(
        attachable=answer, reasons=(found.sentence,), problems=() if answer is not False else (closed,),
        engine=None if answer is None else "halogen",
    )  # fmt: skip
