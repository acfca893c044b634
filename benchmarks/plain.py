"""What `quadgen render` is measured against: the same files, by the script that an engineer writes in an afternoon.

libyaml, pydantic for the same fields, Jinja2, hashlib, open and write. It knows the fleets of fleets.py and no
more: nothing is refused but by pydantic, nothing is escaped, read back or pruned, a problem has no place, a write is
not atomic, and the evidence is pasted in. Its files are byte for byte quadgen's, which a test holds.

    python -m benchmarks.plain fleet.yml rendered             writes
    python -m benchmarks.plain fleet.yml rendered --compare   renders, reads, and exits 3 where anything differs
"""

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from benchmarks.plain_fields import Defaults, Engine, Fleet, Host, Model, Service
from jinja2 import Environment, FileSystemLoader, StrictUndefined

MERGED = {"flags", "env", "labels"}
DEVICES = {"vulkan": ("/dev/dri", "Vulkan0"), "cuda": ("nvidia.com/gpu=0", "CUDA0")}
COPY = """\
copy: draft-mtp,ngram-cache at width 7, measured to win on copy
ngram-cache drafts up to 8 tokens a round, which draft_n_max does not bound
evidence: draft-mtp,ngram-cache at width 7 against draft-mtp: 94.0 -> 115.1 tok/s on copy, 1.22x \
[rtx3090-cuda-27b-copy-copy]
costs 14% on prose [rtx3090-cuda-27b-copy-prose]"""
REWRITE = """\
rewrite: ngram-simple, measured to win on copy
ngram-simple drafts up to 48 tokens a round
evidence: ngram-simple against none: 51.0 -> 107.9 tok/CPU-s on copy, 2.12x [epyc-cpu-gemma270m-ngram-simple-copy]"""


def words(value: str | list[str]) -> str:
    """Quote what holds a blank."""
    return " ".join(f'"{word}"' if " " in word else word for word in ([value] if isinstance(value, str) else value))


templates = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"), undefined=StrictUndefined, autoescape=False,  # noqa: S701 - units are not HTML
    trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
)  # fmt: skip
templates.filters["words"] = words
templates.filters["json"] = lambda value: json.dumps(value, separators=(",", ":"))


def layered(*layers: Service) -> dict[str, Any]:
    """Lay fields over each other, the last one on top."""
    merged: dict[str, Any] = {}
    for layer in layers:
        for name in layer.model_fields_set:
            value = getattr(layer, name)
            merged[name] = {**merged[name], **value} if name in MERGED and merged.get(name) else value
    return {name: value for name, value in merged.items() if value is not None}


def speculation(fields: dict[str, Any], model: Model, fleet: Fleet) -> tuple[list[str], str]:
    """The arguments of a profile, and what the unit says of it."""
    profile = fields.get("profile", "default")
    if profile == "default" and model.mtp:
        note = f"default: {fields['model']} has an MTP head in its file, used at the engine's own draft width"
        return ["--spec-type", "draft-mtp"], note
    if profile == "copy":
        return ["--spec-type", "draft-mtp,ngram-cache", "--spec-draft-n-max", "7"], COPY
    if profile in fleet.profiles:
        return ["--spec-type", ",".join(fleet.profiles[profile].spec_types)], REWRITE
    return [], "none: asked for no speculation"


def arguments(fields: dict[str, Any], model: Model, native: bool, drafter: list[str]) -> list[str]:  # noqa: FBT001 - a script
    """The server's command line."""
    argv = ["--model", f"{fields['models_dir']}/{model.file}" if native else f"/models/{model.file}"]
    argv += ["--alias", fields.get("alias", fields["model"]), "--host", fields["bind"] if native else "0.0.0.0"]  # noqa: S104 - inside the container
    slots = fields.get("slots", 1)
    argv += ["--port", str(fields["port"]), "--ctx-size", str(fields["context"] * slots), "--parallel", str(slots)]
    argv.append("--metrics")
    if fields.get("api_key"):
        argv += ["--api-key-file", f"/run/secrets/{fields['api_key']['secret']}"]
    if fields["backend"] != "cpu":
        argv += ["--n-gpu-layers", "all", "--fit", "off", "--device", DEVICES[fields["backend"]][1]]
    argv += drafter
    for name, value in fields.get("flags", {}).items():
        argv += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    return argv


def start_timeout(model: Model) -> int:
    """Seconds."""
    return max(900, 600 - -(model.size or 0) // (50 * 2**20))


def unit(name: str, fields: dict[str, Any], fleet: Fleet, engine: Engine) -> str:
    """One unit as text."""
    model = fleet.models[fields["model"]]
    native = fields.get("runtime") == "systemd"
    fields = {"models_dir": "/srv/models", "bind": "127.0.0.1", **fields}
    drafter, evidence = speculation(fields, model, fleet)
    argv = arguments(fields, model, native, drafter)
    start = start_timeout(model)
    stop = fields.get("stop_timeout", 30)
    kill = stop if native else stop + 15  # Podman's own SIGKILL comes first
    what = f"{fields['model']} on {fields['backend']}, {engine.kind} {engine.build}"
    url = f"http://127.0.0.1:{fields['port']}/health"
    template = templates.get_template("unit.service.j2" if native else "unit.container.j2")
    return template.render(
        name=name, model=fields["model"], backend=fields["backend"], port=fields["port"], bind=fields["bind"],
        notes=["Rendered by quadgen: change the fleet file, not this one.", what, *evidence.split("\n")],
        after=fields.get("after"), file=f"{fields['models_dir']}/{model.file}", models_dir=fields["models_dir"],
        image=engine.image, device=DEVICES.get(fields["backend"], ("", ""))[0], labels=fields.get("labels", {}),
        env={"HOME": "/cache", "XDG_CONFIG_HOME": "/nonexistent", **fields.get("env", {})},
        secret=fields.get("api_key", {}).get("secret"), argv=[engine.binary, *argv] if native else argv,
        probe=["curl", "-fs", "--noproxy", "*", "--max-time", "10", "-o", "/dev/null", url],
        start_timeout=start, stop_timeout=stop, kill_timeout=kill, within=20 * (start + kill + 10) + 60,
    )  # fmt: skip


def running(name: str, fields: dict[str, Any], fleet: Fleet, engine: Engine) -> dict[str, Any]:
    """What the manifest says of a service beside its file."""
    native = fields.get("runtime") == "systemd"
    after = fields.get("after", [])
    bind = fields.get("bind", "127.0.0.1").replace("0.0.0.0", "127.0.0.1")  # noqa: S104 - nothing listens here
    return {
        "after": [after] if isinstance(after, str) else after, "autostart": True,
        "conflicts": [], "health": f"http://{bind}:{fields['port']}/health",
        "image": None if native else engine.image, "pull": None if native else "missing",
        "start_timeout": start_timeout(fleet.models[fields["model"]]), "stop_timeout": fields.get("stop_timeout", 30),
        "unit": f"{name}.service", "user": None,
    }  # fmt: skip


def manifest(host: str, units: dict[str, str], needs: list[dict[str, Any]], services: list[dict[str, Any]]) -> str:
    """The host's manifest.json."""
    entries = []
    for path, text in sorted(units.items()):
        spoken = "\n".join(line for line in text.split("\n") if line and not line.startswith("#"))
        service = Path(path).stem
        entry = {
            "mode": "0644", "path": path, "restart": hashlib.sha256(spoken.encode()).hexdigest(), "service": service,
            "sha256": hashlib.sha256(text.encode()).hexdigest(), "unit": f"{service}.service",
        }  # fmt: skip
        entries.append(json.dumps(entry))
    requires: dict[str, Any] = {
        name: sorted({value for each in needs for value in each.get(name, ())})
        for name in ("cdi", "checkpoints", "credentials", "devices", "files", "groups", "linger", "memlock", "networks")
    }
    requires["podman"] = "5.0.0" if any(path.endswith(".container") for path in units) else None
    for name in ("programs", "secrets", "users"):
        requires[name] = sorted({value for each in needs for value in each.get(name, ())})
    listed = ",\n".join(f"  {entry}" for entry in entries)
    lines = ",\n".join(f'  "{name}": {json.dumps(value)}' for name, value in requires.items())
    head = f'{{\n "files": [\n{listed}\n ],\n "host": {json.dumps(host)},\n "requires": {{\n'
    rows = ",\n".join(f"  {json.dumps(each)}" for each in sorted(services, key=lambda each: each["unit"]))
    return f'{head}{lines}\n }},\n "services": [\n{rows}\n ],\n "version": 1\n}}\n'


def needs(fields: dict[str, Any], fleet: Fleet, engine: Engine) -> dict[str, list[str]]:
    """What a service needs of its host."""
    file = f"{fields.get('models_dir', '/srv/models')}/{fleet.models[fields['model']].file}"
    if fields.get("runtime") == "systemd":
        return {"files": [file], "groups": ["render", "video"], "programs": [engine.binary or "", "curl"]}
    device = DEVICES.get(fields["backend"])
    return {
        "files": [file],
        "cdi": [device[0]] if device and "=" in device[0] else [],
        "devices": [device[0]] if device and "=" not in device[0] else [],
        "secrets": [fields["api_key"]["secret"]] if fields.get("api_key") else [],
    }


def rendered(fleet: Fleet, name: str, host: Host) -> Iterator[tuple[str, str]]:
    """Every file of a host: its path and its text."""
    base: list[Defaults] = [fleet.defaults, *(fleet.groups[group] for group in host.groups or ()), host]
    entries = host.services or {"llama-server": Service()}
    units, wanted, services = {}, [], []
    for service, own in entries.items():
        fields = layered(*base, own)
        engine = next(each for each in fleet.engines.values() if fields["backend"] in each.backends)
        native = fields.get("runtime") == "systemd"
        path = f"etc/systemd/system/{service}.service" if native else f"etc/containers/systemd/{service}.container"
        units[path] = unit(service, fields, fleet, engine)
        wanted.append(needs(fields, fleet, engine))
        services.append(running(service, fields, fleet, engine))
    yield from units.items()
    yield "manifest.json", manifest(name, units, wanted, services)


def main() -> None:
    """Write the files of a fleet, or compare them with those on disk."""
    file, output, *flags = sys.argv[1:]
    with open(file, encoding="utf-8") as stream:  # noqa: PTH123 - the faster way, as a script for many hosts has it
        fleet = Fleet.model_validate(yaml.load(stream, yaml.CSafeLoader))
    differs = 0
    made = set()
    for name, host in fleet.hosts.items():
        for path, text in rendered(fleet, name, host):
            target = f"{output}/{name}/{path}"
            if flags == ["--compare"]:
                try:
                    with open(target, encoding="utf-8") as stream:  # noqa: PTH123 - as above
                        differs += stream.read() != text
                except FileNotFoundError:
                    differs += 1
                continue
            directory = target.rpartition("/")[0]
            if directory not in made:
                os.makedirs(directory, exist_ok=True)  # noqa: PTH103 - as above
                made.add(directory)
            with open(target, "w", encoding="utf-8") as stream:  # noqa: PTH123 - as above
                stream.write(text)
    print(f"{len(fleet.hosts)} hosts" + (f", {differs} files differ" if flags else ""))
    sys.exit(3 if differs else 0)


if __name__ == "__main__":
    main()
