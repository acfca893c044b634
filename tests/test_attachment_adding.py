"""What is to be added to a fleet so that a drafter can be measured: it is taken as it stands."""

import re
import shlex
from typing import Any

import pytest

from fleets import compile_text, one, refusal
from quadgen.attachment import Drafter, attachable
from quadgen.measuring.arms import arms

CARD = "model: plain\nbackend: cuda\ncontext: 4096\n"
TAKEN = "profiles: {ngram-mod: {spec_types: [ngram-cache], workload: copy}}\n"
DRAFTERS: list[tuple[str, dict[str, Any]]] = [
    (CARD, {"spec_types": ("ngram-mod",)}),
    (CARD, {"spec_types": ("draft-simple",), "draft_model": "headed", "draft_n_max": 5}),
    (CARD, {"spec_types": ("draft-simple", "ngram-mod"), "draft_model": "headed"}),
    (CARD, {"spec_types": ("draft-simple",), "draft_model": "other/new one.gguf"}),
    (CARD, {"spec_types": ("draft-simple",), "draft_model": "headed", "draft_device": ("CUDA0",)}),
    (f"{CARD}profile: none\n", {"spec_types": ("ngram-mod",)}),
    (f"services: {{a: {{}}}}\n{CARD}", {"spec_types": ("ngram-mod",)}),
]


def hint(text: str, drafter: Drafter) -> str:
    (told,) = attachable(compile_text(text), "claw", None, drafter).evidence
    assert told.hint is not None
    return told.hint


@pytest.mark.parametrize(("fields", "drafter"), DRAFTERS)
def test_what_is_to_be_added_makes_a_fleet_of_which_the_command_measures_the_drafter(
    fields: str, drafter: dict[str, Any]
) -> None:
    asked = Drafter(**drafter)
    text = hint(one(fields, above=TAKEN), asked)
    entries = {place: entry for entry, place in re.findall(r"`([^`]+)` to (?:the )?`?(\w+)", text)}
    name = entries["profiles"].partition(":")[0]
    above = f"{TAKEN}  {entries['profiles']}\n".replace("{ngram-mod: ", "\n  ngram-mod: ").replace("}}", "}")
    whole = one(f"{fields.replace('profile: none', '')}profile: {name}\n{entries.get('service', '')}\n", above=above)
    if "models" in entries:
        whole = whole.replace("models:\n", f"models:\n  {entries['models']}\n")
    command = text.partition("bring a number: ")[2]
    refused = refusal(whole)
    assert (refused.code, refused.hint) == (
        "unmeasured-combination", f"use `profile: default`, or bring a number: {command}",
    )  # fmt: skip
    host, _, service = shlex.split(command)[4].partition("/")
    measured = arms(compile_text(whole), host, service or None, name).candidate.decision
    assert (measured.types, measured.draft_n_max) == (asked.spec_types, asked.draft_n_max)
