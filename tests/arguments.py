"""Every form in which a fleet may give an option of llama-server, and the real parser of its arguments.

For the tests that hold quadgen's flag tables against the program itself. Nothing is served: `--help` lets the
server read its variables and all its arguments, look at some of them together, and end.
"""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from quadgen.engines.flags import Option
from quadgen.engines.llama_options import BOUNDS, LARGEST, NEVER
from quadgen.engines.llama_values import value_text
from serving import BARE, NOTHING

JSON = "{json}"
DIRECTORY = "{dir}"
FILE = "{file}"
"""Stand for a path that is there: some options are read, or looked for, when the arguments are."""

TEXTS: Mapping[str, tuple[Any, ...]] = MappingProxyType({
    "--api-key-file": (FILE,),
    "--api-prefix": ("/v1", "/a/b"),
    "--chat-template": ("chatml",),
    "--chat-template-file": (FILE,),
    "--chat-template-kwargs": ({"enable_thinking": False}, '{"a": 1}'),
    "--control-vector": ("/v/a.gguf", ["/v/a.gguf", "/v/b.gguf"]),
    "--control-vector-layer-range": (["1", "5"], [0, 12]),
    "--control-vector-scaled": ("/v/a.gguf:0.5", ["/v/a.gguf:0.5", "/v/b.gguf:2"]),
    "--cpu-mask": ("ff", "0xff"),
    "--cpu-mask-batch": ("0f",),
    "--cpu-range": ("0-3", "1-"),
    "--cpu-range-batch": ("-3",),
    "--device": ("none",),
    "--dry-sequence-breaker": ("none", ["a", "b"]),
    "--fit-target": (1024, "512,1024", [512, 1024]),
    "--grammar-file": (FILE,),
    "--json-schema": ({"type": "object"},),
    "--json-schema-file": (JSON,),
    "--logit-bias": ("15043-1", "15043+0.5", ["1-inf", "2+1e-3"]),
    "--lora-scaled": ("/v/a.gguf:0.5", ["/v/a.gguf:1", "/v/b.gguf:2"]),
    "--mcp-servers-config": (JSON,),
    "--mcp-servers-json": ({"mcpServers": {}},),
    "--media-path": (DIRECTORY,),
    "--mmproj-device": ("none",),
    "--override-kv": ("a=int:1", "a=str:b", ["a=bool:true", "b=float:0.5"]),
    "--override-tensor": ("blk=CPU", ["a=CPU", "b=CPU"]),
    "--path": (DIRECTORY,),
    "--rpc": ("127.0.0.1:1",),
    "--samplers": ("top_k;min-p;TEMP", "infill"),
    "--sampling-seq": ("dkia",),
    "--slot-save-path": (DIRECTORY,),
    "--spec-draft-cpu-mask": ("ff",),
    "--spec-draft-cpu-mask-batch": ("0xff",),
    "--spec-draft-cpu-range": ("0-3",),
    "--spec-draft-device": ("none",),
    "--spec-draft-override-tensor": ("blk=CPU",),
    "--spec-synth-rates": ("0.5,0.25", [0.5, 0.25]),
    "--tensor-split": ("3,1", [3, 1], "0.5"),
    "--ui-config": ({"a": 1},),
    "--ui-config-file": (JSON,),
})  # fmt: skip
"""Values of options whose text is read when the arguments are; any word will do for the others."""

Form = tuple[str, ...]
"""Consecutive words of an argument vector."""

HEAVY = frozenset({"--n-cpu-ffn", "--n-cpu-moe", "--spec-draft-n-cpu-moe"})
"""Options of which the server notes each layer when it reads the number."""


@dataclass(frozen=True, slots=True)
class Parser:
    """The real argument parser, run in a directory of its own that holds what `placed` names."""

    server: Path
    directory: Path

    def run(self, words: Sequence[str], env: Mapping[str, str] = NOTHING) -> subprocess.CompletedProcess[str]:
        """Read `words` and the variables of `env`, print the help and end."""
        return subprocess.run(
            [self.server, "--help", *words],
            cwd=self.directory,
            env={**BARE, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=60,
        )

    def complaint(self, *words: str, env: Mapping[str, str] = NOTHING) -> str | None:
        """The first line of the error with which the parser ends; None where it takes everything."""
        done = self.run(words, env)
        assert done.returncode in (0, 1), (words, done.returncode, done.stderr)
        if done.returncode == 0:
            return None
        return next((line for line in done.stderr.splitlines() if "error" in line or "invalid" in line), "")

    def refused(self, forms: Sequence[Sequence[str]]) -> dict[tuple[str, ...], str]:
        """Those of `forms` that the parser does not take, with its complaint; many are read in one run."""
        found: dict[tuple[str, ...], str] = {}
        for some in chunks(forms, 64):
            if self.complaint(*(word for form in some for word in form)) is not None:
                found |= {tuple(form): why for form in some if (why := self.complaint(*form)) is not None}
        return found

    def placed(self, value: Any) -> Any:
        """`value` with the paths for which its words stand, which are made."""
        if isinstance(value, list):
            return [self.placed(item) for item in value]
        if isinstance(value, dict):
            return {key: self.placed(item) for key, item in value.items()}
        paths = {DIRECTORY: self.directory, FILE: self.directory / "text", JSON: self.directory / "object.json"}
        if not isinstance(value, str) or value not in paths:
            return value
        paths[FILE].write_text("text\n", encoding="utf-8")
        paths[JSON].write_text('{"mcpServers": {}}', encoding="utf-8")
        return str(paths[value])


def said(option: Option, value: Any) -> Form:
    """`value` as somebody would write it on a command line who knows nothing of the option."""
    name = option.canonical
    if option.arity == 0 and value is True:
        return (name,)
    items = value if isinstance(value, list) else [value]
    return (name, *(value_text(item) for item in items))


def chunks(forms: Sequence[Sequence[str]], size: int) -> Iterator[Sequence[Sequence[str]]]:
    """`forms`, so many at a time."""
    return (forms[start : start + size] for start in range(0, len(forms), size))


def good(option: Option) -> Iterator[Any]:
    """The values of a fleet's `flags` that an option takes: each kind, each word, both ends of the numbers."""
    if option.arity == 0:
        yield True
        if option.negation is not None:
            yield False
        return
    yield from option.values
    if "on" in option.values:
        yield from (True, False)
    if option.values and option.commas:
        yield list(option.values[1:])
        yield ",".join(option.values[1:3])
    yield from option.words
    if option.number == "int":
        low, high = BOUNDS.get(option.canonical, (-LARGEST - 1, LARGEST))
        numbers = {low, max(low, 0), max(low, 1), 99 if option.canonical in HEAVY else high}
        yield from sorted(numbers - {NEVER.get(option.canonical)})
        yield str(max(low, 1))
    elif option.number == "float":
        yield from (0.5, 1, "1e-3")
    elif not option.values:
        yield from TEXTS.get(option.canonical, ("word",))
        if option.repeats and option.canonical not in TEXTS:
            yield ["one", "two"]


BAD_TEXTS: Mapping[str, tuple[Any, ...]] = MappingProxyType({
    "--api-prefix": ("/v1/", "/", "v1", ""),
    "--chat-template-kwargs": ("{a: 1}", '{"a": NaN}', "[1]", ""),
    "--control-vector-layer-range": ("1", ["1"], ["1", "b"]),
    "--control-vector-scaled": ("a.gguf", "a.gguf:x", "a:b:1", ""),
    "--cpu-mask": ("xyz",),
    "--cpu-range": ("all", "0", "0-512"),
    "--fit-target": ("much", "-1", ",".join("1" * 16), ""),
    "--grammar-file": ("",),
    "--json-schema": ("{", ""),
    "--json-schema-file": ("",),
    "--logit-bias": ("15043", "15043=1", "x-1", ""),
    "--lora-scaled": ("a.gguf", "a.gguf:x", "a:b:1", ""),
    "--media-path": ("",),
    "--mmproj-device": ("", "none,none", "Vulkan0", "a=none"),
    "--override-kv": ("a=1", "a=long:1", "a=bool:maybe", f"{'a' * 128}=int:1", "a=int:1,b", ""),
    "--override-tensor": ("blk", "blk=NOWHERE0=CPU", "a=CPU,b=CUDA0", ""),
    "--repeat-penalty": (0, -1),
    "--rpc": ("",),
    "--samplers": ("top_k;typo", "top_k;"),
    "--sampling-seq": ("kzz",),
    "--slot-save-path": ("",),
    "--spec-draft-override-tensor": ("blk", "blk=Vulkan0", ""),
    "--tensor-split": ("a,b", "1e99", ",".join("1" * 16), ""),
    "--ui-config-file": ("",),
})  # fmt: skip
"""What the handlers of these refuse."""


def bad(option: Option) -> Iterator[Any]:
    """Values that quadgen must refuse for an option that no field decides."""
    if option.arity == 0:
        yield "word"
        return
    yield from BAD_TEXTS.get(option.canonical, ())
    if option.values:
        yield from ("bogus", option.values[0].upper() + "x", "")
        if "on" not in option.values:
            yield True
        if option.commas:
            yield f"{option.values[1]},bogus"
    elif option.number == "int":
        low, high = BOUNDS.get(option.canonical, (-LARGEST - 1, LARGEST))
        yield from ("x", "1e5", "0x10", "1.5", " 8", "", True, low - 1, high + 1)
        if option.canonical in NEVER:
            yield NEVER[option.canonical]
    elif option.number == "float":
        yield from ("x", "1,5x", "nan", "inf", "0x1p3", "", True)
