"""Arguments of llama-server that only make sense with others, or that silently take the place of others.

Read in the sources at b11434 (https://github.com/ggml-org/llama.cpp), and seen on a real server of that build.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from quadgen.engines.base import Ask
from quadgen.engines.llama_flags import canonical, stated
from quadgen.engines.llama_told import ratios
from quadgen.engines.llama_values import whole
from quadgen.resolution import Argument

_ONE: Final = (
    ("--chat-template", "--chat-template-file"),
    ("--grammar", "--grammar-file", "--json-schema", "--json-schema-file"),
    ("--samplers", "--sampling-seq"),
    ("--ui-config", "--ui-config-file"),
)
"""Options that set the same thing, so that the last one counts: common/arg.cpp."""

_BOTH: Final[Mapping[str, str]] = {"--ssl-cert-file": "--ssl-key-file", "--ssl-key-file": "--ssl-cert-file"}
"""Options without effect unless the other one is there: tools/server/server-http.cpp:162."""

_WATCHED: Final = frozenset(
    {*(name for group in _ONE for name in group), *_BOTH, "--batch-size", "--split-mode", "--tensor-split"}
)


def check_together(ask: Ask, arguments: Iterable[Argument]) -> None:
    """Report what cannot stand beside, or without, another of the `arguments`."""
    told: dict[str, Argument] = {}
    for argument in arguments:
        name = canonical(ask, argument.words[0])
        if name in _WATCHED:
            told[name] = argument
    if not told:
        return
    for group in _ONE:
        given = [name for name in told if name in group]
        for name in given[1:]:
            message = f"{name} takes the place of {_said(told[given[0]])}: only the last of them counts"
            keys = _keys(ask, name)
            ask.report.add("does-not-compose", message, *keys, hint="keep one", at_key=keys[0] == "flags")
    for name in told:
        other = _BOTH.get(name)
        if other is not None and other not in told and stated(ask, other) is None:
            message = f"{name} is without effect as long as {other} is not there: the server answers in plain HTTP"
            keys = _keys(ask, name)
            ask.report.add("does-not-compose", message, *keys, hint=f"add {other}", at_key=keys[0] == "flags")
    slots = ask.report.get("slots", 1)
    batch = whole(told["--batch-size"].words[1]) if "--batch-size" in told and not ask.decision.types else None
    if batch is not None and batch < slots:
        message = f"a batch must hold a token of each slot, and there are {slots}: the server aborts at load"
        ask.report.add("does-not-compose", message, *_keys(ask, "--batch-size"), hint=f"at least {slots}")
    if "--tensor-split" in told:
        _check_ratios(ask, str(told["--tensor-split"].words[1]))
    if "--split-mode" in told:
        for message, hint, keys in _split(ask, str(told["--split-mode"].words[1])):
            ask.report.add("does-not-compose", message, *keys, hint=hint)


def _split(ask: Ask, mode: str) -> Iterator[tuple[str, str, Sequence[str | int]]]:
    """What a split needs of the devices: llama_prepare_model_devices in src/llama.cpp."""
    many = len(ask.devices.names)
    if mode == "tensor" and not many and ask.backend == "cpu":
        message = "split-mode tensor needs a GPU, and the server ends at load without one"
        yield message, "leave it out", _keys(ask, "--split-mode")
    main = stated(ask, "--main-gpu")
    if mode != "none" or main is None or not many:
        return
    number = whole(main[1])
    if number is not None and not 0 <= number < many:
        message = f"main-gpu {number} is none of the {many} devices of this service, {', '.join(ask.devices.names)}"
        yield message, f"0 to {many - 1}, in their order" if many > 1 else "leave it out", main[0]


def _check_ratios(ask: Ask, value: str) -> None:
    """Report a list of ratios that is not the devices': src/llama-model.cpp:1559, and ggml-org/llama.cpp#28506.

    What is too few stands for 0, and a device without a layer; what is too many is not read. Where all are 0, the
    server splits by what is free, as if nothing were said.
    """
    many, found = len(ask.devices.names), ratios(value)
    keys = _keys(ask, "--tensor-split")
    if not many:
        return
    if len(found) != many:
        message = f"--tensor-split has {len(found)} numbers, and this service has {', '.join(ask.devices.names)}"
        ask.report.add("bad-flag-value", message, *keys, hint=f"one for each of the {many} devices, in their order")
    elif not any(found):
        message = "--tensor-split gives no device anything, and the server would split by what is free"
        ask.report.add("bad-flag-value", message, *keys, hint="leave it out, or write the proportions")


def _keys(ask: Ask, name: str) -> Sequence[str | int]:
    """Where the fleet says an option that came from its `flags` or `extra_args`."""
    said = stated(ask, name)
    return ("flags",) if said is None else said[0]


def _said(argument: Argument) -> str:
    return f"`{argument.why}`" if argument.why != "extra_args" else str(argument.words[0])
