"""What quadgen itself tells llama-server, against a flag table that need not have it: a fork's, or an old build's."""

from collections.abc import Iterable
from typing import Final

from quadgen.engines.base import Ask
from quadgen.engines.llama_flags import doubts, lacks
from quadgen.resolution import Argument

_MANY: Final = "999"
"""Layers: more than any model has."""


def every_layer(ask: Ask) -> str:
    """The value of `--n-gpu-layers` that leaves no layer on the CPU: `all`, where the build takes words there."""
    option = ask.engine.table.find("--n-gpu-layers")
    return _MANY if option is not None and "all" not in option.words else "all"


def check_decided(ask: Ask, arguments: Iterable[Argument]) -> None:
    """Report what was decided and this build cannot be told: an option that it lacks, a type that it does not know."""
    find = ask.engine.table.find
    for argument in arguments:
        name = str(argument.words[0])
        option = find(name)
        if option is not None and argument.why != "profile":
            continue
        keys = () if argument.why.startswith("rule") else argument.keys
        if option is None:
            message = f"{lacks(ask, name)}, which this service needs"
            hint = "use another build, or make the table of this one anew: quadgen flags learn"
            ask.report.add("unknown-flag", message, *keys, hint=hint, notes=doubts(ask))
        elif option.values:
            unknown = [word for word in str(argument.words[1]).split(",") if word not in option.values]
            if unknown:
                message = f"{name} of llama-server {ask.engine.table.build} does not take {', '.join(unknown)}"
                hint = f"one of {', '.join(option.values)}"
                ask.report.add("bad-flag-value", message, *keys, hint=hint, notes=doubts(ask))
