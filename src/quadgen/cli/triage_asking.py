"""The options of `quadgen triage` to a question: options first, then what was read, then what is assumed."""

from dataclasses import dataclass

from quadgen.cli import triage_values as values
from quadgen.cli.triage_files import Files
from quadgen.cli.triage_live import Live, figures_of
from quadgen.evidence import shipped_rows
from quadgen.triage import (
    Attachability,
    Band,
    Drafter,
    Figures,
    Given,
    Question,
    Target,
    Unclear,
    VerifyCost,
    reading,
    target,
)
from quadgen.triage.rows import looked_up
from quadgen.triage.target import either


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options as they were written; None where one was not."""

    drafter: str
    target_rate: float | None
    commit_per_round: float | None
    target_step: float | None
    plain_step: float | None
    target_log: str | None
    draft_step: float | None
    draft_log: str | None
    width: str | None
    drafting_share: float | None
    acceptance: str | None
    verify_cost: str | None
    verify_log: str | None
    live: Live | None = None
    attachment: Attachability | None = None


def question(asked: Asked, files: Files) -> Question:
    """Read what was named, and put it together. Raises `typer.BadParameter`, `Rejected` or `Unavailable`."""
    drafter = values.named("--drafter", asked.drafter)
    flags = _flags(asked)
    widths = values.widths("--width", asked.width)
    share = values.share("--drafting-share", asked.drafting_share)
    step = values.positive("--draft-step", asked.draft_step)
    cost = values.verify_cost("--verify-cost", asked.verify_cost) if asked.verify_cost is not None else None
    band = values.band("--acceptance", asked.acceptance) if asked.acceptance is not None else _assumed(asked, drafter)
    _fitting(asked, drafter)
    facing = _target(asked, flags, files)
    return Question(
        target=facing,
        drafter=drafter,
        draft_step=_draft_step(asked, drafter, step, files),
        verify=cost or _verify(asked, facing, files),
        acceptance=band or files.acceptance(asked.acceptance or "", drafter, widths),
        widths=widths,
        attachment=asked.attachment,
        share=None if share is None else Given(value=share, source="--drafting-share"),
    )


def _assumed(asked: Asked, drafter: Drafter) -> Band:
    """What is to be expected where nobody says; of n-gram drafters, by the ledgers, the fleet's included."""
    if not drafter.looks_up:
        return Band()
    own = None if asked.attachment is None else asked.attachment.looked_up
    return own or looked_up(shipped_rows()) or Band()


def _flags(asked: Asked) -> Figures:
    rate = values.positive("--target-rate", asked.target_rate)
    step = values.positive("--target-step", asked.target_step)
    plain = values.positive("--plain-step", asked.plain_step)
    commit = values.commit("--commit-per-round", asked.commit_per_round)
    return Figures(
        rate=_given("--target-rate", rate),
        step=_given("--target-step", None if step is None else step / 1000),
        commit=_given("--commit-per-round", commit),
        plain_step=_given("--plain-step", None if plain is None else plain / 1000),
    )


def _given(option: str, value: float | None) -> Given | None:
    return None if value is None else Given(value=value, source=option)


def _fitting(asked: Asked, drafter: Drafter) -> None:
    """Whether the options are about this drafter."""
    if drafter.looks_up:
        for option, value in (("--draft-step", asked.draft_step), ("--draft-log", asked.draft_log)):
            if value is not None:
                raise values.bad(option, f"{drafter.words} looks its drafts up: no pass of a model is to be measured")
    elif asked.drafting_share is not None:
        raise values.bad("--drafting-share", f"{drafter.words} drafts in every round")
    elif drafter.cost.name == "plain" and asked.draft_step is None and asked.draft_log is None:
        raise values.bad("--draft-step", "say what a pass of the draft model takes, or give its log with --draft-log")


def _target(asked: Asked, flags: Figures, files: Files) -> Target:
    log = None if asked.target_log is None else reading.figures_of(files.log(asked.target_log))
    recorded = None if asked.attachment is None else asked.attachment.figures
    live = None if asked.live is None else figures_of(asked.live, environ=files.environ)
    try:
        return target(flags, either(either(live, log), recorded))
    except Unclear as unclear:
        raise values.bad(unclear.option, str(unclear)) from None


def _draft_step(asked: Asked, drafter: Drafter, step: float | None, files: Files) -> Given | None:
    if step is not None:
        return Given(value=step / 1000, source="--draft-step")
    return None if asked.draft_log is None else reading.draft_step(files.log(asked.draft_log), drafter)


def _verify(asked: Asked, facing: Target, files: Files) -> VerifyCost:
    if asked.verify_log is None:
        return VerifyCost()
    step = None if facing.drafts else Given(value=facing.step, source="the target's step")
    return reading.verify_cost(files.log(asked.verify_log), facing.plain or step)
