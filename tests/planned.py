"""Fleets that ask for more than was measured, and the rows that a plan's runs would bring."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from fleets import Memory, flow
from locks import dense, locked
from quadgen.evidence import Request, Setting
from quadgen.measuring.plan import Plan, Run, plan
from quadgen.pipeline import Compiled, compile_fleet

Fleet = dict[str, Any]

IMAGE = "registry.example/llama.cpp:vulkan"
ENGINES: Fleet = {
    "new": {"kind": "llama.cpp", "backends": ["vulkan"], "image": f"{IMAGE}-b11434", "build": "b11434"},
    "old": {"kind": "llama.cpp", "backends": ["vulkan"], "image": f"{IMAGE}-b10715", "build": "b10715"},
    "bare": {"kind": "llama.cpp", "backends": ["vulkan"], "image": f"{IMAGE}-any"},
}
MODELS: Fleet = {
    "m": {"file": "m-Q4_K_M.gguf", "mtp": False},
    "same": {"file": "same.gguf", "id": "m", "mtp": False},
    "small": {"file": "m-Q8_0.gguf", "id": "m", "mtp": False},
    "other": {"file": "other.gguf", "mtp": False},
}
PROFILES: Fleet = {
    "map": {"spec_types": ["ngram-map-k"], "workload": "copy", "against": "none"},
    "map-prose": {"spec_types": ["ngram-map-k"], "workload": "prose", "against": "none"},
    "map-own": {"spec_types": ["ngram-map-k"], "workload": "own", "against": "none"},
    "mod": {"spec_types": ["ngram-mod"], "workload": "copy", "against": "none"},
    "mod-over-map": {"spec_types": ["ngram-mod"], "workload": "copy", "against": "map"},
}
FILES = {each["file"]: dense() for each in MODELS.values()}
CARDS = ("Card X", "Card Y")


def fleet(hosts: Fleet, *, policy: Mapping[str, str] | None = None, **more: Any) -> Fleet:
    """A fleet of these hosts, and of engines, models and profiles to choose from."""
    fields = {name: {"backend": "vulkan", "context": 4096, **each} for name, each in hosts.items()}
    return {
        "version": 1, "measurements": ["rows.yml"], "policy": dict(policy or {}), "engines": ENGINES, "models": MODELS,
        "profiles": PROFILES, "hosts": fields, **more,
    }  # fmt: skip


def host(*services: tuple[str, str, str], cards: Sequence[str] = ()) -> Fleet:
    """A host with services of an engine, a model and a profile each."""
    named = {
        f"s{at}": {"engine": engine, "model": model, "profile": profile, "port": 8080 + at}
        for at, (engine, model, profile) in enumerate(services)
    }
    return {"services": named, **({"gpus": [{"name": card} for card in cards]} if cards else {})}


def compiled(of: Fleet, rows: Iterable[Fleet] = (), recorded: Iterable[str] = (), *, advisory: bool = True) -> Compiled:
    """Compile a fleet with these rows in its ledger, and these files in its lock."""
    facts = {name: replace(FILES[name], header=header(name)) for name in recorded}
    ledger = {"version": 1, "measurements": list(rows)}
    files = {"fleet.yml": flow(of), "rows.yml": flow(ledger), **(locked(facts) if facts else {})}
    return compile_fleet("fleet.yml", Memory({name: text.encode() for name, text in files.items()}), advisory=advisory)


def header(file: str) -> str:
    """The hash of a file's header: `same.gguf` is a copy of another."""
    return {"same.gguf": "1", "m-Q4_K_M.gguf": "1", "m-Q8_0.gguf": "2"}.get(file, "3") * 64


def needed(of: Fleet, rows: Iterable[Fleet] = (), recorded: Iterable[str] = ()) -> Plan:
    """What a fleet needs measured."""
    return plan(compiled(of, rows, recorded))


def brought(
    run: Run, number: int, *, ratio: float = 1.5, device: str, sha: str | None, quantization: str
) -> list[Fleet]:
    """The rows that a run appends; device, `sha` of the header and quantisation are what it finds, if nobody says."""
    request = run.own.asked.request
    return [
        row(request, f"run-{number}-{workload}", workload, ratio, device, sha)
        | {"quantization": request.quantization or quantization}
        for workload in run.workloads
    ]


def row(request: Request, name: str, workload: str, ratio: float, device: str, sha: str | None) -> Fleet:
    """A row for a request, as a ledger holds it."""
    fields = {
        "id": name, "engine": request.engine, "build": request.build or "b9999", "backend": request.backend,
        "device": request.devices[0] if request.devices else device, "model": request.model,
        "header": request.header or sha, "workload": workload,
        "setting": setting(request.setting), "against": setting(request.against), "ratio": ratio, "samples": 7,
        "date": "2026-12-01", "source": "a test",
    }  # fmt: skip
    return {key: value for key, value in fields.items() if value is not None}


def setting(of: Setting) -> Fleet | str:
    return {"spec_types": list(of.types)} if of.spec_types else "none"


def lacking(found: Compiled, *codes: str) -> set[tuple[str | None, str | None]]:
    """Services that are refused, or warned of, for their evidence by one of these codes, or because it is missing."""
    wanted = {*codes, "unmeasured-combination", "stale-build", "other-device"}
    return {(each.host, each.service) for each in found.reported if each.code in wanted}


SERVICES = st.tuples(st.sampled_from(list(ENGINES)), st.sampled_from(list(MODELS)), st.sampled_from(list(PROFILES)))
HOSTS = st.builds(
    lambda services, cards: host(*services, cards=cards),
    st.lists(SERVICES, min_size=1, max_size=3),
    st.sampled_from([(), ("Card X",), ("card  x",), ("Card Y",), CARDS]),
)
DEGREE = st.sampled_from(["ignore", "warn", "refuse"])
POLICIES = st.fixed_dictionaries({"evidence": st.sampled_from(["model", "backend"]), "build": DEGREE, "device": DEGREE})
FLEETS = st.builds(
    lambda hosts, policy: fleet({f"h{at}": each for at, each in enumerate(hosts)}, policy=policy),
    st.lists(HOSTS, min_size=1, max_size=4),
    POLICIES,
)
RECORDED = st.sets(st.sampled_from(sorted(FILES)))
_ROW = st.fixed_dictionaries({
    "engine": st.just("llama.cpp"), "backend": st.just("vulkan"), "samples": st.just(7), "source": st.just("a test"),
    "build": st.sampled_from(["b11434", "b10715"]), "device": st.sampled_from(CARDS),
    "model": st.sampled_from(["m", "other"]), "workload": st.sampled_from(["copy", "prose"]),
    "setting": st.sampled_from([{"spec_types": ["ngram-map-k"]}, {"spec_types": ["ngram-mod"]}]),
    "against": st.just("none"), "ratio": st.sampled_from([0.5, 1.5]),
})  # fmt: skip
ROWS = st.lists(_ROW, max_size=3).map(lambda rows: [{"id": f"before-{at}", **each} for at, each in enumerate(rows)])
"""Rows that are there already."""
