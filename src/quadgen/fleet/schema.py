"""The shape of fleet.yml, field by field: every layer is a mapping in which each field may be left out.

`null` in a layer removes what a lower layer said. What a field means together with others is decided in
`quadgen.resolve`; here is only what can be said of it alone.
"""

from typing import Annotated, Any, Final, Literal

from pydantic import TypeAdapter, with_config
from typing_extensions import TypedDict

from quadgen.fleet.entries import (
    CacheTypes,
    CardFields,
    EngineFields,
    HealthFields,
    LimitFields,
    ModelFields,
    PolicyFields,
    ProfileFields,
    RestartFields,
)
from quadgen.fleet.kinds import (
    STRICT,
    ApiKey,
    Backend,
    DrafterDevices,
    Environment,
    Files,
    Flags,
    HostName,
    Lines,
    Names,
    Runtime,
    Secrets,
    ServiceName,
    Version,
    doc,
)
from quadgen.fleet.values import (
    AbsolutePath,
    Duration,
    FileName,
    Key,
    Line,
    Port,
    Position,
    Size,
    Slots,
    Text,
    Tokens,
    UnitValue,
    UserName,
)


@with_config(STRICT)
class ServiceFields(TypedDict, total=False):
    """One server process, or the default of any of its fields."""

    model: Annotated[str | None, doc("a key of models")]
    profile: Annotated[str | None, doc("a speculation profile; default: default", "copy")]
    backend: Annotated[Backend | None, doc("what computes")]
    engine: Annotated[str | None, doc("a key of engines; may be left out where exactly one has the backend")]
    models_dir: Annotated[AbsolutePath | None, doc("at /models in a container, read-only", "/srv/models")]
    port: Annotated[Port | None, doc("the same on both sides", 8080)]
    bind: Annotated[Line | None, doc("the address that clients dial", "127.0.0.1", "0.0.0.0", "::1")]  # noqa: S104 - an example
    publish: Annotated[bool | None, doc("false publishes no port")]
    network: Annotated[Lines | None, doc("a Podman network, NAME.network, or host")]
    alias: Annotated[Line | None, doc("the model's name in the API; default: the model's key")]
    context: Annotated[Tokens | None, doc("tokens that one conversation may use", 32768)]
    slots: Annotated[Slots | None, doc("conversations at once", 1)]
    cache_type: Annotated[str | CacheTypes | None, doc("KV cache type", "q8_0", {"k": "q8_0", "v": "f16"})]
    devices: Annotated[list[Position | str] | None, doc("positions in gpus", [0])]
    draft_model: Annotated[str | None, doc("a key of models: the drafter of a profile that names none")]
    draft_device: Annotated[DrafterDevices | None, doc("engine device names for the drafter", "CUDA1")]
    mmproj: Annotated[FileName | Literal[False] | None, doc("multimodal projector")]
    chat_template_file: Annotated[FileName | Literal[False] | None, doc("Jinja chat template")]
    lora: Annotated[Files | None, doc("adapters")]
    flags: Annotated[Flags | None, doc("long llama-server flags without dashes", {"flash-attn": "on"})]
    extra_args: Annotated[list[Text] | None, doc("one item, one argument")]
    env: Annotated[Environment | None, doc("environment variables")]
    secrets: Annotated[
        Secrets | None,
        doc("NAME: an environment variable (podman), /path: a file", {"HF_TOKEN": "hf-token"}),
    ]
    api_key: Annotated[ApiKey, doc("the key's secret", {"secret": "llama-key"})]
    volumes: Annotated[Lines | None, doc("Podman's src:dst[:options]", "/srv/data:/data:ro,z")]
    image: Annotated[Line | None, doc("in the engine's place")]
    pull: Annotated[Literal["always", "missing", "never", "newer"] | None, doc("when Podman pulls")]
    auto_update: Annotated[Literal["registry", "local"] | None, doc("podman-auto-update(1)")]
    autostart: Annotated[bool | None, doc("start at boot")]
    after: Annotated[Lines | None, doc("services of this host, or unit names", "mnt-nas.mount")]
    conflicts: Annotated[Lines | None, doc("services or units that never run at the same time")]
    start_timeout: Annotated[Duration | None, doc("pull, load and first probe together", "15m")]
    stop_timeout: Annotated[Duration | None, doc("before it is killed", "30s")]
    restart: Annotated[Literal["on-failure", "always", "no"] | RestartFields | None, doc("systemd's Restart=")]
    health: Annotated[Literal[False] | HealthFields | None, doc("the probe, or false for none")]
    limits: Annotated[LimitFields | None, doc("bounds")]
    labels: Annotated[dict[Key, Text | None] | None, doc("container labels")]
    unit: Annotated[
        dict[str, dict[str, UnitValue] | None] | None, doc("keys of the unit by section", {"Service": {"Nice": 5}})
    ]


@with_config(STRICT)
class HostDefaults(ServiceFields, total=False):
    """What `defaults` and a group may say: host fields and the default of any service field."""

    runtime: Annotated[Runtime | None, doc("podman: Quadlet; systemd: a native unit")]
    podman: Annotated[Line | None, doc("the host's Podman", "5.4.2")]
    rootless: Annotated[UserName | None, doc("the user that runs it; unset is rootful")]
    home: Annotated[AbsolutePath | None, doc("of that user; default /home/<user>")]
    user: Annotated[UserName | None, doc("of native system units; default DynamicUser=yes")]
    selinux: Annotated[Line | None, doc("disable, relabel, or an SELinux type", "disable")]
    gpus: Annotated[list[CardFields] | None, doc("the cards", [{"name": "NVIDIA GeForce RTX 3090", "vram": "24GiB"}])]
    gpu_reserve: Annotated[Size | None, doc("kept free on each card; default 1GiB")]
    memory: Annotated[Size | None, doc("of the host, which its services must fit into", "128GiB")]


@with_config(STRICT)
class HostFields(HostDefaults, total=False):
    """One machine that pulls its directory."""

    address: Annotated[Line | None, doc("where the host is reached")]
    groups: Annotated[Names | None, doc("layers between defaults and this host, lowest first")]
    services: Annotated[dict[ServiceName, ServiceFields | None] | None, doc("by name")]


@with_config(STRICT)
class FleetFields(TypedDict, total=False):
    """The whole of fleet.yml."""

    version: Annotated[Version, doc("of this format")]
    policy: Annotated[PolicyFields | None, doc("how strictly evidence is judged")]
    measurements: Annotated[
        Names | None, doc("more ledgers, relative to this file; default: measurements/*.yml", ["ledgers/*.yml"])
    ]
    lock: Annotated[Line | None, doc("recorded model facts; default models.lock.yml", "models.lock.yml")]
    engines: Annotated[dict[Key, EngineFields] | None, doc("by name")]
    models: Annotated[dict[Key, ModelFields] | None, doc("by name")]
    profiles: Annotated[dict[Key, ProfileFields] | None, doc("the fleet's own, beside default, none and copy")]
    defaults: Annotated[HostDefaults | None, doc("under every host and service")]
    groups: Annotated[dict[Key, HostDefaults | None] | None, doc("named layers")]
    hosts: Annotated[dict[HostName, HostFields | None], doc("by name")]


ADAPTER: Final = TypeAdapter(FleetFields)

_FLAGS: Final = (
    "mmap", "no-mmap", "mlock", "direct-io", "load-mode", "threads", "threads-batch", "batch-size", "ubatch-size",
    "flash-attn", "n-gpu-layers", "gpu-layers", "split-mode", "tensor-split", "main-gpu", "override-tensor", "cpu-moe",
    "n-cpu-moe", "numa", "kv-unified", "swa-full", "fit", "cont-batching", "cache-reuse", "cache-ram", "cache-prompt",
    "jinja", "chat-template", "chat-template-kwargs", "reasoning", "reasoning-format", "reasoning-budget",
    "temperature", "temp", "top-k", "top-p", "min-p", "repeat-penalty", "presence-penalty", "seed", "n-predict",
    "embedding", "reranking", "pooling", "warmup", "no-warmup", "rope-scaling", "verbose",
)  # fmt: skip
"""Flags that people write as keys: `quadgen.fleet` reads no flag table, so that they are named here."""
_UNDER_FLAGS: Final = "under `flags` of the host or service"

SYNONYMS: Final = {
    "ctx_size": "context", "ctx-size": "context", "ctx": "context", "n_ctx": "context",
    "parallel": "slots", "np": "slots", "host": "bind", "listen": "bind", "environment": "env",
    "ports": "port", "publish_port": "port", "networks": "network", "depends_on": "after", "requires": "after",
    "spec_type": "profile", "spec_types": "profile", "speculation": "profile", "draft": "draft_model",
    "args": "extra_args", "command": "extra_args", "cmd": "extra_args", "exec": "extra_args",
    "healthcheck": "health", "mem_limit": "limits", "cpus": "limits", "gpu": "gpus", "device": "devices",
    "model_dir": "models_dir", "autoupdate": "auto_update", "label": "labels", "volume": "volumes", "group": "groups",
    "user": "rootless", "podman_version": "podman", "restart_policy": "restart", "timeout": "start_timeout",
    "image_pull": "pull", "mounts": "volumes", "engine_build": "build", "cache-type": "cache_type",
    **dict.fromkeys((name for flag in _FLAGS for name in (flag, flag.replace("-", "_"))), f"write it {_UNDER_FLAGS}"),
    "ngl": f"write n-gpu-layers {_UNDER_FLAGS}",
}  # fmt: skip
"""What people write for a field, from compose files, llama-server's flags and other launchers; or what to do."""


def json_schema() -> dict[str, Any]:
    """The JSON Schema of fleet.yml; keys that begin with `x-` are free at the top."""
    schema = ADAPTER.json_schema()
    schema["title"] = "quadgen fleet"
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["patternProperties"] = {"^x-": True}
    schema["required"] = ["version", "hosts"]
    return schema
