"""What a speculation setting of llama-server comes to: refused with the reason that the engine would not give.

A setting that the argument parser takes may end the server at load, abort it at the first request, or draft nothing
while everything looks healthy. Each rule here is one function over `quadgen.engines.drafters`; what a file must hold
is not known here.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from quadgen.engines.draft_settings import DraftSetting, draft_setting, most
from quadgen.engines.drafters import DRAFT_WIDTH, DRAFTERS, IN_A_FILE, UNREAD, readers
from quadgen.engines.llama_options import QUANTISED
from quadgen.evidence.setting import DEFAULT_WIDTH
from quadgen.problems import Severity

_SHORTEST_MATCH: Final = 16
"""Below it the engine itself warns of ngram-mod's quality (common/speculative.cpp:1967)."""
_OFF: Final = frozenset({"off", "false", "disabled", "0"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong, at a field of the profile or of the service."""

    code: str
    message: str
    keys: tuple[str, ...]
    """From the profile, or from the service, down to the field."""
    severity: Severity = Severity.ERROR
    at_key: bool = False
    notes: tuple[str, ...] = ()
    hint: str | None = None


def compose(types: Iterable[str], draft_n_max: int | None, flags: Mapping[str, Any]) -> Iterator[Finding]:
    """Find what is wrong with a profile by itself; `flags` are its further --spec-* options without their dashes."""
    asked = draft_setting(types, draft_n_max, flags)
    for rule in (_one_context, _width, _twice, _without_effect, _thrown_away, _probability, _ngram_simple, _ngram_mod):
        yield from rule(asked)


def _one_context(asked: DraftSetting) -> Iterator[Finding]:
    """There is one draft context (common/speculative.cpp:2606, ggml-org/llama.cpp#27839).

    What happens depends on the files: the server ends at load, aborts, or answers every request with an error.
    """
    if len(asked.drafts) > 1:
        yield Finding(
            code="does-not-compose",
            message=f"{' and '.join(asked.drafts)} cannot run together: the engine has one draft context",
            keys=("spec_types",),
            hint="keep one draft-* type; n-gram types are free to add",
        )


def _width(asked: DraftSetting) -> Iterator[Finding]:
    """No n-gram type reads --spec-draft-n-max (common_speculative_n_max, common/speculative.cpp:2396)."""
    if asked.draft_n_max is None or asked.drafts:
        return
    bounds = [DRAFTERS[kind].bounded_by for kind in asked.types if kind in DRAFTERS]
    known = next(filter(None, bounds), None)
    yield Finding(
        code="unexpected-value",
        message="`draft_n_max` bounds only draft-* types, and this profile has none",
        keys=("draft_n_max",),
        hint="leave it out: nothing bounds ngram-cache"
        if bounds and known is None
        else f"bound an n-gram drafter by its own flag, such as {known or 'spec-ngram-mod-n-max'}",
    )


def _twice(asked: DraftSetting) -> Iterator[Finding]:
    """Of two names of one option the engine takes the last, and a setting is the same in any order."""
    for name, first in asked.doubled.items():
        message = f"`{name}` and `{first}` are one option"
        yield Finding(code="duplicate-flag", message=message, keys=("flags", name), at_key=True, hint="keep one")


def _without_effect(asked: DraftSetting) -> Iterator[Finding]:
    """The parser takes an option of any type, and only the code of its types ever looks at it."""
    for option in asked.flags:
        users = readers(option)
        why = UNREAD.get(option)
        if why is not None:
            message, note, hint = f"`{option}` is without effect", why, "leave it out"
        elif users and users != readers(DRAFT_WIDTH) and not set(users) & set(asked.types):
            message = f"`{option}` belongs to {' and '.join(users)}, and this profile does not draft with that"
            note, hint = "the server takes it, and nothing changes", "leave it out, or add the type to `spec_types`"
        elif users and not set(users) & set(asked.types):
            message = f"`{option}` belongs to draft-* types, and this profile has none"
            note, hint = "the server takes it, and nothing changes", "leave it out"
        else:
            continue
        yield Finding(
            code="unexpected-value", message=message, keys=asked.at(option), at_key=True, notes=(note,), hint=hint
        )


def _thrown_away(asked: DraftSetting) -> Iterator[Finding]:
    """A draft of fewer than --spec-draft-n-min tokens is cleared, once it was paid for (speculative.cpp:468)."""
    least, width = asked.number("spec-draft-n-min"), asked.draft_n_max or DEFAULT_WIDTH
    if not asked.drafts or least is None or 0 <= least <= width:
        return
    if least < 0:  # compared without its sign
        message, hint = "`spec-draft-n-min` is below 0, and the engine then takes no draft at all", "at least 0"
    else:
        message = f"`spec-draft-n-min` is above the draft width {width}, so that every draft is thrown away"
        hint = f"at most {width}, or a larger `draft_n_max`"
    yield Finding(
        code="does-not-compose", message=message, keys=asked.at("spec-draft-n-min"),
        notes=("the server starts healthy, pays for each draft and uses none",), hint=hint,
    )  # fmt: skip


def _probability(asked: DraftSetting) -> Iterator[Finding]:
    """A draft ends at the first token less likely than --spec-draft-p-min (speculative.cpp:421)."""
    least = asked.number("spec-draft-p-min") if asked.drafts and "spec-draft-p-min" in asked.flags else None
    if least == 1:
        yield Finding(
            code="unexpected-value", severity=Severity.WARNING, keys=asked.at("spec-draft-p-min"),
            message="`spec-draft-p-min` at 1 leaves only drafts that no other token competes with",
            notes=("most models then draft next to nothing",), hint="say less, such as 0.9",
        )  # fmt: skip
    if least is not None and not 0 <= least <= 1:
        yield Finding(
            code="bad-flag-value",
            message="`spec-draft-p-min` is a probability, from 0 to 1",
            keys=asked.at("spec-draft-p-min"),
            notes=("no token is that likely: nothing would be drafted" if least > 1 else "below 0 is as 0",),
        )


def _ngram_simple(asked: DraftSetting) -> Iterator[Finding]:
    """It drafts nothing shorter than what it looks up (common_ngram_simple_draft, common/ngram-map.cpp:100)."""
    found, widest = asked.number("spec-ngram-simple-size-n"), most("ngram-simple", asked)
    if "ngram-simple" in asked.types and found is not None and widest is not None and widest < found:
        stated = next(option for option in ("size-m", "size-n") if f"spec-ngram-simple-{option}" in asked.flags)
        yield Finding(
            code="does-not-compose",
            message=f"ngram-simple never drafts {widest:.0f} tokens after a match of {found:.0f}",
            keys=asked.at(f"spec-ngram-simple-{stated}"),
            notes=("a draft shorter than the match is dropped: the server starts healthy and drafts nothing",),
            hint="`spec-ngram-simple-size-m` must be at least `spec-ngram-simple-size-n`, which is 12 by default",
        )


def _ngram_mod(asked: DraftSetting) -> Iterator[Finding]:
    """Its own three numbers (common/speculative.cpp:1967, :2036-2044)."""
    if "ngram-mod" not in asked.types:
        return
    least, widest = asked.number("spec-ngram-mod-n-min"), most("ngram-mod", asked)
    match = asked.number("spec-ngram-mod-n-match")
    if widest is not None and widest < 1:
        yield Finding(
            code="does-not-compose", message="ngram-mod drafts nothing with `spec-ngram-mod-n-max` at 0",
            keys=asked.at("spec-ngram-mod-n-max"), hint="leave ngram-mod out, or say at least 1",
        )  # fmt: skip
    elif "spec-ngram-mod-n-min" in asked.flags and least is not None and widest is not None and least > widest:
        yield Finding(
            code="unexpected-value", severity=Severity.WARNING,
            message=f"`spec-ngram-mod-n-min` is above `spec-ngram-mod-n-max`, and is taken for {widest:.0f}",
            keys=asked.at("spec-ngram-mod-n-min"), hint=f"say {widest:.0f}",
        )  # fmt: skip
    if match is not None and 1 <= match < _SHORTEST_MATCH:
        yield Finding(
            code="unexpected-value", severity=Severity.WARNING,
            message=f"ngram-mod matches {match:.0f} tokens, and fewer than {_SHORTEST_MATCH} draft poorly",
            keys=asked.at("spec-ngram-mod-n-match"), notes=("the engine warns of it: ggml-org/llama.cpp#19164",),
        )  # fmt: skip


def fits(
    types: Iterable[str], draft_n_max: int | None, flags: Mapping[str, Any], *, batch: int, slots: int
) -> Iterator[Finding]:
    """Find a batch, in tokens, that does not hold the last token and the draft of every slot at once.

    As handle_last_sampled_token of tools/server/server-context.cpp:539 wants it, for draft-* and n-gram types alike.
    """
    asked = draft_setting(types, draft_n_max, flags)
    widths = [int(found) for kind in asked.types if kind in DRAFTERS and (found := most(kind, asked)) is not None]
    least = slots * (max(widths, default=0) + 1)
    if widths and 0 < batch < least:
        many = f" in each of {slots} slots" if slots > 1 else ""
        yield Finding(
            code="does-not-compose", keys=("flags", "batch-size"),
            message=f"a batch of {batch} tokens has no room for a token and its draft of {max(widths)}{many}",
            notes=("the server starts healthy, and aborts at a request",),
            hint=f"a `batch-size` of at least {least}, or a smaller draft",
        )  # fmt: skip


def beside(
    types: Iterable[str],
    flags: Mapping[str, Any],
    *,
    head_in_file: bool = False,
    draft_device: bool = False,
    mmproj: bool = False,
    flash_attn: object = None,
    split_mode: object = None,
) -> Iterator[Finding]:
    """Find what is wrong with a setting on a service; keys are the service's, but `flags` are the profile's.

    `head_in_file`: draft-mtp drafts with the head in the model's own file. `flash_attn` and `split_mode` are what the
    service's flags say, None where they do not.
    """
    asked = draft_setting(types, None, flags)
    if not asked.drafts:
        return
    if str(asked.flags.get("spec-draft-type-v")) in QUANTISED and str(flash_attn).lower() in _OFF:
        # the draft context has the target's flash attention: src/llama-context.cpp:3849
        yield Finding(
            code="does-not-compose", message="a quantised V cache of a draft needs flash attention, which is off",
            keys=("flags", "flash-attn"), notes=("the server ends at load",),
            hint="leave `flash-attn` out, or `spec-draft-type-v` out of the profile",
        )  # fmt: skip
    if str(split_mode) == "tensor" and draft_device:
        yield Finding(
            code="does-not-compose", keys=("draft_device",),
            message="a drafter on one device cannot follow a target that is tensor-split",
            notes=("the server aborts at load (ggml-org/llama.cpp#26475)",),
            hint="leave `draft_device` or `split-mode: tensor` out",
        )  # fmt: skip
    if str(split_mode) == "tensor" and str(asked.flags.get("spec-draft-backend-sampling")).lower() == "true":
        yield Finding(  # src/llama-context.cpp:1291
            code="does-not-compose", severity=Severity.WARNING, keys=("flags", "split-mode"),
            message="`split-mode: tensor` turns `spec-draft-backend-sampling` of the profile off again",
            hint="leave it out of the profile, or measure anew: the CPU samples the drafts",
        )  # fmt: skip
    if mmproj and (blind := [kind for kind in asked.drafts if kind in ("draft-simple", "draft-eagle3")]):
        yield Finding(  # common/speculative.cpp:304 and :657; b10435 hands the image's rows on as they are
            code="does-not-compose", severity=Severity.WARNING, keys=("mmproj",),
            message=f"{blind[0]} does not see what a projector adds, and drafts poorly after it",
            hint="measure with the images or the audio that the service will get",
        )  # fmt: skip
    if not head_in_file or "draft-mtp" not in asked.drafts:
        return
    idle = ["`draft_device`"] if draft_device else []
    idle += [f"`{option}`" for option in asked.flags if option in IN_A_FILE]
    for what in idle:
        yield Finding(  # common/speculative.cpp:2536
            code="unexpected-value", severity=Severity.WARNING, at_key=True,
            keys=("draft_device",) if what == "`draft_device`" else ("profile",),
            message=f"{what} is without effect: a head in the model's own file runs where the model does",
            hint="leave it out, or give the head a file of its own: `mtp: FILE` of the model",
        )  # fmt: skip
