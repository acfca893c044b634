"""The JSON Schema of fleet.yml: editors accept by it what quadgen takes, and mark plain mistakes."""

import json
from copy import deepcopy
from typing import Any

import jsonschema
import pytest
import yaml

from command import quadgen
from source import ROOT

FLEETS = [ROOT / "fleet.yml", *sorted(ROOT.glob("examples/*/fleet.yml")), ROOT / "examples/two-backends/refused.yml"]
HOST = ("hosts", "claw")


@pytest.fixture(name="printed", scope="module")
def _printed() -> dict[str, Any]:
    done = quadgen("schema", cwd=ROOT)
    assert (done.status, done.err) == (0, "")
    schema: dict[str, Any] = json.loads(done.out)
    return schema


@pytest.fixture(name="schema", scope="module")
def _schema(printed: dict[str, Any]) -> jsonschema.Draft202012Validator:
    jsonschema.Draft202012Validator.check_schema(printed)
    return jsonschema.Draft202012Validator(printed)


@pytest.fixture(name="fleet", scope="module")
def _fleet() -> dict[str, Any]:
    fleet: dict[str, Any] = yaml.safe_load((ROOT / "fleet.yml").read_text(encoding="utf-8"))
    return fleet


def changed(fleet: dict[str, Any], path: tuple[str, ...], value: object) -> dict[str, Any]:
    """The fleet with another value at one place."""
    copy = deepcopy(fleet)
    at = copy
    for key in path[:-1]:
        at = at.setdefault(key, {})
    at[path[-1]] = value
    return copy


@pytest.mark.parametrize("path", FLEETS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_schema_accepts_every_fleet_that_is_committed(path: Any, schema: jsonschema.Draft202012Validator) -> None:
    schema.validate(yaml.safe_load(path.read_text(encoding="utf-8")))


def test_every_property_is_described(printed: dict[str, Any]) -> None:
    shapes = [printed, *printed["$defs"].values()]
    properties = [(name, field) for shape in shapes for name, field in shape.get("properties", {}).items()]
    assert len(properties) > 100
    assert [name for name, field in properties if not field.get("description")] == []


MISTAKES: dict[str, tuple[tuple[str, ...], object]] = {
    "another version": (("version",), 2),
    "an unknown key at the top": (("host",), {}),
    "an unknown key of a host": ((*HOST, "card"), 1),
    "a synonym": ((*HOST, "ctx_size"), 4096),
    "a port in quotes": ((*HOST, "port"), "8080"),
    "a port that does not exist": ((*HOST, "port"), 70000),
    "an unknown backend": ((*HOST, "backend"), "vulcan"),
    "an unknown engine": (("engines", "cpu", "kind"), "vllm"),
    "an unknown key of an engine": (("engines", "cpu", "tag"), "b1"),
    "an unknown key of a model": (("models", "bge-m3", "path"), "x.gguf"),
    "an unknown key of a card": ((*HOST, "gpus"), [{"nam": "x"}]),
    "a card's memory without its unit": ((*HOST, "gpus"), [{"vram": 24}]),
    "a key in the fleet": ((*HOST, "api_key"), "sk-123"),
    "a key that is just true": ((*HOST, "api_key"), True),
    "a head that is no file": (("models", "bge-m3", "mtp"), "yes"),
    "a size without its unit": ((*HOST, "gpu_reserve"), 5),
    "a probe that is just true": ((*HOST, "health"), True),
    "a restart that systemd does not know": ((*HOST, "restart"), "sometimes"),
    "no context": ((*HOST, "context"), 0),
    "a position below zero": ((*HOST, "devices"), [-1]),
    "a flag with its dashes": ((*HOST, "flags"), {"--metrics": True}),
    "a variable with a blank": ((*HOST, "env"), {"A B": "c"}),
    "a variable that is a switch": ((*HOST, "env"), {"A": True}),
    "a relative models_dir": ((*HOST, "models_dir"), "models"),
    "an empty image": ((*HOST, "image"), ""),
    "a host that cannot be a directory": (("hosts", "my host"), {"model": "bge-m3"}),
    "a service that cannot be a unit": ((*HOST, "services"), {"a/b": {"model": "bge-m3"}}),
    "a policy that is not there": (("policy",), {"exposed": "ignore"}),
    "a gain of nothing": (("policy",), {"min_gain": 0}),
    "no hosts": (("hosts",), None),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_the_schema_marks(what: str, schema: jsonschema.Draft202012Validator, fleet: dict[str, Any]) -> None:
    path, value = MISTAKES[what]
    assert not schema.is_valid(changed(fleet, path, value))


FINE: dict[str, tuple[tuple[str, ...], object]] = {
    "a key of one's own at the top": (("x-anchors",), [1, {"a": None}]),
    "a secret for a key": ((*HOST, "api_key"), {"secret": "llama-key"}),
    "a server that is open on purpose": ((*HOST, "api_key"), False),
    "one text for a list of them": ((*HOST, "volumes"), "/a:/b:ro"),
    "a list of them": ((*HOST, "volumes"), ["/a:/b:ro", "/c:/d"]),
    "null, which removes": ((*HOST, "profile"), None),
    "null for a flag": ((*HOST, "flags"), {"pooling": None}),
    "flags of every form": ((*HOST, "flags"), {"a": True, "b": 1, "c": "x", "d": {"e": 1}, "f": [1, "x", {"g": 2}]}),
    "devices by position": ((*HOST, "devices"), [0, 1]),
    "devices by name": ((*HOST, "devices"), ["CUDA0"]),
    "a card of unified memory": ((*HOST, "gpus"), [{"name": "x", "vram": "unified", "id": "renderD128"}]),
    "a head in its own file": (("models", "bge-m3", "mtp"), "head.gguf"),
    "time spans of both forms": ((*HOST, "restart"), {"policy": "always", "delay": 10, "within": "8h"}),
    "a probe with its numbers": ((*HOST, "health"), {"interval": "30s", "retries": 3}),
    "unit keys": ((*HOST, "unit"), {"Service": {"Nice": 5, "OOMPolicy": None, "Environment": ["a", "b"]}}),
    "secrets of both forms": ((*HOST, "secrets"), {"HF_TOKEN": "hf", "/run/x": "y"}),
    "limits": ((*HOST, "limits"), {"memory": "64GiB", "memlock": "unlimited", "cpus": 1.5}),
}


@pytest.mark.parametrize("what", FINE)
def test_the_schema_takes(what: str, schema: jsonschema.Draft202012Validator, fleet: dict[str, Any]) -> None:
    path, value = FINE[what]
    schema.validate(changed(fleet, path, value))
