"""What `quadgen.engines.llama_memory` says of a service, with the headers that a test makes up for its files.

shares = memory_asks.shares("{model: plain, backend: cpu, ...}", Known(model=facts))
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

from fleets import accepted, one
from quadgen.engines import llama_memory
from quadgen.engines.base import Ask, Paths
from quadgen.resolution import Argument, Known, Resolution, Share

MIB = 2**20


def resolved(fields: str, *, models: str = "") -> Resolution:
    """The only service of a host with these fields; `models` are more than those of `fleets`, as a block."""
    text = one(fields).replace("models:\n", f"models:\n{models}", 1)
    ((found,),) = accepted(text).resolved.hosts.values()
    return found


def shares(
    fields: str | Resolution,
    known: Known,
    *more: tuple[str, ...],
    types: tuple[str, ...] = (),
    width: int | None = None,
    draft_file: bool = False,
) -> tuple[Share, ...]:
    """What a service takes that drafts with these types, so many tokens; `more` are arguments beside its own.

    With `draft_file` there is a draft model even where its header is not known.
    """
    found = resolved(fields) if isinstance(fields, str) else fields
    extra = [Argument(words, "extra_args") for words in more]
    decided = replace(found.decision, types=types, draft_n_max=width)
    return _of(replace(found, decision=decided, arguments=(*found.arguments, *extra)), known, draft_file=draft_file)


def _of(found: Resolution, known: Known, *, draft_file: bool) -> tuple[Share, ...]:
    """What a resolved service takes, as the compiler asks for it."""
    paths = Paths(
        models_dir="/models", model="/models/m.gguf", mmproj="/models/p.gguf" if known.mmproj else None,
        chat_template_file=None, lora=(), draft_model="/models/d.gguf" if known.draft or draft_file else None,
        head="/models/h.gguf" if known.head else None,
    )  # fmt: skip
    asked = Ask(
        report=cast("Any", None), host=found.host, engine=found.engine, backend=found.backend, model=found.model,
        decision=found.decision, devices=found.devices, paths=paths, listen="127.0.0.1", port=found.port, context=0,
        api_key_file=None, boxed=False, exposed=False, known=known,
    )  # fmt: skip
    return llama_memory.shares(asked, found.arguments)


def sizes(found: Iterable[Share], what: str) -> Mapping[int | None, int]:
    """Of the shares with this name the bytes by card, None for the host."""
    return {each.card: each.size for each in found if each.what == what and each.missing is None}


def total(found: Iterable[Share], card: int | None) -> int:
    """All that is on a card, or on the host, from the start."""
    return sum(each.size for each in found if each.card == card and not each.grows)


def lacking(found: Iterable[Share]) -> dict[str, str]:
    """What is said not to be counted."""
    return {each.what: each.missing for each in found if each.missing is not None}
