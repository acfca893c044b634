"""The fields of fleet.yml as pydantic models, for the script of plain.py."""

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

_UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def _size(value: object) -> object:
    found = re.fullmatch(r"([0-9.]+)([KMGT]iB)", value) if isinstance(value, str) else None
    return round(float(found[1]) * _UNITS[found[2]]) if found else value


def _span(value: object) -> object:
    found = re.fullmatch(r"([0-9]+)([smh])", value) if isinstance(value, str) else None
    return int(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]] if found else value


def _many(value: object) -> object:
    return [value] if isinstance(value, str) else value


Size = Annotated[int, BeforeValidator(_size), Field(gt=0)]
Span = Annotated[int, BeforeValidator(_span), Field(ge=1, le=604800)]
Many = Annotated[list[str], BeforeValidator(_many)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=200)]
Backend = Literal["cuda", "rocm", "vulkan", "sycl", "cpu"]
Degree = Literal["ignore", "warn", "refuse"]


class Strict(BaseModel):
    """Refuses keys that it does not know."""

    model_config = ConfigDict(extra="forbid")


class Policy(Strict):
    """The fleet's policy."""

    evidence: Literal["model", "backend"] = "model"
    min_gain: float = 1.0
    build: Degree = "warn"
    device: Degree = "warn"
    exposed: Literal["warn", "refuse"] = "refuse"
    digest: Degree = "ignore"


class Engine(Strict):
    """One build of llama.cpp."""

    kind: Literal["llama.cpp"]
    build: str | None = None
    backends: list[Backend]
    image: str | None = None
    binary: str | None = None
    entrypoint: Many | None = None
    flags: str | None = None


class Model(Strict):
    """A checkpoint."""

    file: str | None = None
    hf: str | None = None
    url: str | None = None
    id: str | None = None
    mtp: bool | str | None = None
    mmproj: str | None = None
    chat_template_file: str | None = None
    size: Size | None = None


class Profile(Strict):
    """A speculation setting."""

    summary: str = ""
    spec_types: Many
    draft_n_max: Annotated[int, Field(ge=1, le=1024)] | None = None
    flags: dict[str, Any] = {}
    draft_model: str | None = None
    workload: str | None = None
    against: str = "default"
    needs_mtp: bool | None = None


class Card(Strict):
    """A GPU."""

    name: str | None = None
    vram: Size | Literal["unified"] | None = None
    id: str | None = None
    reserve: Size | None = None


class CacheTypes(Strict):
    """Types of the two caches."""

    k: str | None = None
    v: str | None = None


class Health(Strict):
    """The probe."""

    interval: Span = 30
    timeout: Span = 10
    retries: int = 3
    start_period: Span | None = None


class Restart(Strict):
    """When systemd restarts."""

    policy: Literal["on-failure", "always", "no"] = "on-failure"
    delay: Span = 10
    tries: int = 20
    within: Span | None = None


class Limits(Strict):
    """What the kernel bounds."""

    memory: Size | None = None
    cpus: float | None = None
    pids: int | None = None
    shm: Size | None = None
    memlock: Size | Literal["unlimited"] | None = None
    nofile: int | None = None


class Service(Strict):
    """One server."""

    model: str | None = None
    profile: str | None = None
    backend: Backend | None = None
    engine: str | None = None
    models_dir: str | None = None
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    bind: str | None = None
    publish: bool | None = None
    network: Many | None = None
    alias: str | None = None
    context: Annotated[int, Field(ge=1)] | None = None
    slots: Annotated[int, Field(ge=1, le=1024)] | None = None
    cache_type: str | CacheTypes | None = None
    devices: list[int | str] | None = None
    draft_model: str | None = None
    draft_device: Many | None = None
    mmproj: str | Literal[False] | None = None
    chat_template_file: str | Literal[False] | None = None
    lora: Many | None = None
    flags: dict[str, Any] | None = None
    extra_args: list[str] | None = None
    env: dict[str, str | None] | None = None
    secrets: dict[str, str | None] | None = None
    api_key: dict[Literal["secret"], Name] | Literal[False] | None = None
    volumes: Many | None = None
    image: str | None = None
    pull: Literal["always", "missing", "never", "newer"] | None = None
    auto_update: Literal["registry", "local"] | None = None
    autostart: bool | None = None
    after: Many | None = None
    conflicts: Many | None = None
    start_timeout: Span | None = None
    stop_timeout: Span | None = None
    restart: Literal["on-failure", "always", "no"] | Restart | None = None
    health: Literal[False] | Health | None = None
    limits: Limits | None = None
    labels: dict[str, str | None] | None = None
    unit: dict[str, dict[str, Any] | None] | None = None


class Defaults(Service):
    """What `defaults` and groups say."""

    runtime: Literal["podman", "systemd"] | None = None
    podman: str | None = None
    rootless: str | None = None
    home: str | None = None
    user: str | None = None
    selinux: str | None = None
    gpus: list[Card] | None = None
    gpu_reserve: Size | None = None
    memory: Size | None = None


class Host(Defaults):
    """One machine."""

    address: str | None = None
    groups: Many | None = None
    services: dict[Name, Service] | None = None


class Fleet(Strict):
    """fleet.yml."""

    version: Literal[1]
    policy: Policy = Policy()
    measurements: Many = []
    lock: str | None = None
    engines: dict[str, Engine]
    models: dict[str, Model]
    profiles: dict[str, Profile] = {}
    defaults: Defaults = Defaults()
    groups: dict[str, Defaults] = {}
    hosts: dict[Name, Host]
