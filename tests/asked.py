"""Fleets that ask for one option each, and what quadgen makes of them, for tests beside the real parser."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from arguments import Form, Parser
from fetch_llama import BUILD
from fleets import compile_text, flow
from quadgen.engines.drafters import DRAFTERS, readers
from quadgen.engines.flags import Option, shipped_tables
from quadgen.engines.side_doors import is_speculative
from quadgen.problems import Severity

TABLE = shipped_tables()[BUILD]
OPTIONS = [option for option in TABLE.options if option.removed is None]
REMOVED = [option for option in TABLE.options if option.removed is not None]
CPU = {"model": "plain", "backend": "cpu", "runtime": "systemd", "context": 4096}
CUDA = {**CPU, "backend": "cuda", "gpus": [{"name": "A", "vram": "8GiB"}, {"name": "B", "vram": "8GiB"}]}
NGRAMS = [name for name in DRAFTERS if name.startswith("ngram-")]
DRAFTED = {"spec_types": ["draft-simple", *NGRAMS], "draft_model": "small"}
EAGLE = {"spec_types": ["draft-eagle3"], "draft_model": "small"}
HEAD = {
    "version": 1,
    "policy": {"exposed": "warn"},
    "measurements": ["won.yml"],
    "engines": {
        backend: {"kind": "llama.cpp", "build": BUILD, "backends": [backend], "binary": "/opt/llama-server"}
        for backend in ("cpu", "cuda")
    },
    "models": {
        "plain": {"file": "plain.gguf", "mtp": False},
        "small": {"file": "small.gguf", "mtp": False},
        "headed": {"file": "headed.gguf", "mtp": True},
        "beside": {"file": "beside.gguf", "mtp": "mtp.gguf"},
        "seeing": {"file": "seeing.gguf", "mtp": False, "mmproj": "mmproj.gguf"},
        "hub": {"hf": "org/repo:Q4_K_M", "mtp": False},
        "part": {"hf": "org/repo/sub/file.gguf", "mtp": False},
        "page": {"url": "https://example.org/file.gguf", "mtp": False},
    },
}

Fields = Mapping[str, Any]
Made = list[Form] | set[str]
"""The forms that a service gets, or the codes of its refusal."""


def compiled(hosts: Sequence[Fields], profiles: Mapping[int, Fields] | None = None) -> list[Made]:
    """What each host's service comes to. The host at a position of `profiles` has that profile, which won on it."""
    own = {f"p{at}": {"workload": "copy", "against": "none", **fields} for at, fields in (profiles or {}).items()}
    asking = {
        f"h{at}": {**fields, **({"profile": f"p{at}"} if f"p{at}" in own else {})} for at, fields in enumerate(hosts)
    }
    rows = [
        {
            "id": f"p{at}", "engine": "llama.cpp", "build": BUILD, "backend": hosts[at]["backend"], "device": "a",
            "model": hosts[at]["model"], "workload": "copy", "setting": fields, "against": {"spec_types": []},
            "ratio": 2, "samples": 3, "source": "a test",
        }
        for at, fields in (profiles or {}).items()
    ]  # fmt: skip
    result = compile_text(
        flow({**HEAD, "profiles": own, "hosts": asking}), {"won.yml": flow({"version": 1, "measurements": rows})}
    )
    refused: dict[str, set[str]] = {}
    for one in result.reported:
        if one.severity is Severity.ERROR:
            kind, name = (*(one.path or ()), "", "")[:2]
            host = f"h{str(name)[1:]}" if kind == "profiles" else one.host or ""
            refused.setdefault(host, set()).add(one.code)
    made = {
        host: [tuple(map(str, each.words)) for one in services for each in one.arguments]
        for host, services in result.resolved.hosts.items()
    }
    found = [refused.get(host) or made[host] for host in asking]
    assert all(found), [f"{one.code}: {one.message}" for one in result.reported if one.host is None]
    return found


def tried(parser: Parser, values: Callable[[Option], Iterable[Any]]) -> list[tuple[Option, Any, Made]]:
    """Each option with each value of `values`, written where a fleet may: in a profile, or under `flags`."""
    cases = [(option, parser.placed(value)) for option in OPTIONS for value in values(option)]
    hosts: list[Fields] = []
    profiles: dict[int, Fields] = {}
    for at, (option, value) in enumerate(cases):
        flags = {option.canonical[2:]: value}
        if is_speculative(option):
            eagle = "draft-eagle3" in readers(option.canonical[2:]) and "draft-simple" not in readers(
                option.canonical[2:]
            )
            profiles[at] = {**(EAGLE if eagle else DRAFTED), "flags": flags}
            hosts.append(CPU)
        else:
            hosts.append({**CPU, "flags": flags})
    made = compiled(hosts, profiles)
    return [(option, value, each) for (option, value), each in zip(cases, made, strict=True)]
