"""The words of `quadgen agreement`."""

import json
from collections.abc import Iterator
from typing import Any, Final

from quadgen.agreeing.estimate import Estimate
from quadgen.agreeing.intervals import CONFIDENCE
from quadgen.agreeing.rounds import Text
from quadgen.cli import console
from quadgen.cli.agreement_work import Answer
from quadgen.cli.columns import wrapped

_DIGITS: Final = 4
"""Of a share in JSON: more would only seem exact."""


def as_json(answer: Answer) -> str:
    """One object; `acceptance` is what `quadgen triage --acceptance FILE` reads, and null where there is none."""
    found, counted = answer.found, answer.found.counted
    tokens = found.tokens
    told = {
        "kind": "agreement",
        "target": {"url": answer.urls[0], "model": answer.models[0], "tokens": tokens.sizes[0]},
        "draft": {"url": answer.urls[1], "model": answer.models[1], "tokens": tokens.sizes[1]},
        "acceptance": None if found.refusal is not None else _acceptance(counted),
        "confidence": CONFIDENCE,
        "width": found.setting.width,
        "tokens": found.setting.tokens,
        "chat": found.setting.chat,
        "refusal": found.refusal,
        "tokenizers": {
            "same": tokens.same,
            "differing": len(tokens.differing),
            "first_difference": _first(answer),
            "unread": tokens.unread,
        },
        "positions": [
            {
                "position": at,
                "drafted": each.drafted,
                "tried": each.tried,
                "accepted": each.accepted,
                "p": _share(each.p),
                "of_all_rounds": _share(each.reached),
            }
            for at, each in enumerate(counted.positions, 1)
        ],
        "counted": _counts(counted),
        "with_loops": _counts(found.whole),
        "prompts": [_prompt(text) for text in found.texts],
        "notes": list(answer.notes),
    }
    return json.dumps(told, indent=2, ensure_ascii=False) + "\n"


def _acceptance(counted: Estimate) -> dict[str, float | None] | None:
    if counted.bounds is None:
        return None
    low, high = counted.bounds
    return {"low": _share(low), "high": _share(high), "estimate": _share(counted.p)}


def _first(answer: Answer) -> dict[str, Any] | None:
    first = answer.found.tokens.first
    return None if first is None else {"id": first[0], "target": first[1], "draft": first[2]}


def _counts(estimate: Estimate) -> dict[str, Any]:
    counts = estimate.counts
    return {
        "prompts": estimate.prompts,
        "rounds": estimate.rounds,
        "drafted": estimate.drafted,
        "accepted": estimate.accepted,
        "accepted_of_drafted": _share(counts.acceptance),
        "tokens_per_round": _share(counts.tokens_per_round),
    }


def _prompt(text: Text) -> dict[str, Any]:
    return {
        "name": text.prompt,
        "tokens": text.given,
        "written": len(text.written),
        "rounds": len(text.rounds),
        "drafted": sum(each.drafted for each in text.rounds),
        "accepted": sum(each.accepted for each in text.rounds),
        "first_difference": text.first_difference,
        "loops_from": text.loop,
    }


def _share(share: float | None) -> float | None:
    return None if share is None else round(share, _DIGITS)


def as_text(answer: Answer) -> str:
    """For people: the acceptance by position, what it comes to, and what to make of it."""
    return console.lines(line for each in _lines(answer) for line in (wrapped(each) if each else [""]))


def _lines(answer: Answer) -> Iterator[str]:
    for what, url, model in zip(("target", "draft"), answer.urls, answer.models, strict=True):
        yield f"{what:<8} {url}{f' ({model})' if model else ''}"
    found, counted = answer.found, answer.found.counted
    if found.tokens.same:
        yield f"tokens   the same {found.tokens.sizes[0]} in both"
    if found.texts:
        asked = "asked in the target's chat template" if found.setting.chat else "asked as plain text"
        written = sum(len(text.written) for text in found.texts)
        yield f"prompts  {len(found.texts)}, {asked}; the target wrote {console.count(written, 'token')}"
    if found.refusal is None and counted.bounds is not None:
        yield ""
        yield from _positions(counted)
        yield ""
        yield from _result(answer, counted)
    yield from (f"note: {note}" for note in answer.notes)
    if found.refusal is not None:
        yield f"no estimate: {found.refusal}"


def _positions(counted: Estimate) -> Iterator[str]:
    yield "position   tried  accepted      p   of all rounds"
    for at, each in enumerate(counted.positions, 1):
        p = "    -" if each.p is None else f"{each.p:.3f}"
        yield f"{at:>8} {each.tried:>7} {each.accepted:>9}  {p}   {each.reached or 0:.3f}"


def _result(answer: Answer, counted: Estimate) -> Iterator[str]:
    counts, whole = counted.counts, answer.found.whole
    low, high = counted.bounds or (0.0, 1.0)
    yield (
        f"{console.count(counted.rounds, 'round')}, {counted.drafted} drafted, {counted.accepted} accepted: "
        f"{counts.acceptance or 0:.3f}, {counts.tokens_per_round or 1:.2f} tokens per round"
    )
    if whole.rounds != counted.rounds:
        share, length = whole.counts.acceptance or 0, whole.counts.tokens_per_round or 1
        yield f"with the loops: {share:.3f}, {length:.2f} tokens per round"
    yield f"p = {counted.p or 0:.3f} per position, {CONFIDENCE:.0%} interval {low:.3f} to {high:.3f}, at temperature 0"
    yield f"whether that pays: quadgen triage --acceptance {low:.2f}-{high:.2f} ..."
