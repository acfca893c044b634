"""The shape of what hosts name: policy, engines, models, profiles; and of the mappings inside of a service."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, with_config
from typing_extensions import TypedDict

from quadgen.fleet.kinds import STRICT, Backend, CardId, Degree, Flags, Head, Level, Lines, Names, doc
from quadgen.fleet.values import AbsolutePath, Count, Duration, FileName, Line, Size, Tokens, Width, number


@with_config(STRICT)
class PolicyFields(TypedDict, total=False):
    """How strictly evidence and exposure are judged."""

    evidence: Annotated[
        Literal["model", "backend"], doc("what a row must share with a request, beside backend, setting and workload")
    ]
    min_gain: Annotated[
        float,
        Field(gt=0, lt=100),
        BeforeValidator(number),
        doc("candidate / comparator must exceed this ratio", 1.0, 1.05),
    ]
    build: Annotated[Degree, doc("a row was measured on another engine build")]
    device: Annotated[Degree, doc("a row was measured on another card than the host's gpus say")]
    exposed: Annotated[Level, doc("listening beyond loopback without an API key")]
    digest: Annotated[Degree, doc("an image without @sha256")]


@with_config(STRICT)
class EngineFields(TypedDict, total=False):
    """A server program at one build, with the backends that are compiled into it."""

    kind: Annotated[Literal["llama.cpp", "halogen"], doc("the program")]
    build: Annotated[Line, doc("as written: bNNNN, or any name given to a learned flag table", "b10715")]
    backends: Annotated[list[Backend], Field(min_length=1), doc("compiled-in backends", ["vulkan"])]
    image: Annotated[Line, doc("for runtime: podman; derived from kind, build and backend when left out")]
    binary: Annotated[AbsolutePath, doc("for runtime: systemd", "/opt/llama.cpp/b10715/llama-server")]
    entrypoint: Annotated[Lines, doc("for images that do not start the server by themselves", "/app/llama-server")]
    flags: Annotated[Line, doc("a learned flag table, relative to the fleet file")]


@with_config(STRICT)
class ModelFields(TypedDict, total=False):
    """A checkpoint: where its file is, and what is declared of it."""

    file: Annotated[FileName, doc("below models_dir, or an absolute path", "Qwen3.8-27B-UD-Q4_K_S.gguf")]
    hf: Annotated[Line, doc("org/repo:quant or org/repo/file: the engine fetches it into a writable models_dir")]
    url: Annotated[Line, doc("an https address that the engine fetches into a writable models_dir")]
    id: Annotated[Line, doc("this checkpoint's name in ledgers; default: the key")]
    mtp: Annotated[Head, doc("true: head in the file; a file name: head in its own file; false: none")]
    mmproj: Annotated[FileName | None, doc("multimodal projector, for every service of this model")]
    chat_template_file: Annotated[FileName | None, doc("for every service of this model")]
    size: Annotated[Size, doc("of the file", "15.9GiB")]


@with_config(STRICT)
class ProfileFields(TypedDict, total=False):
    """A named speculation setting of the fleet's own."""

    summary: Annotated[Line, doc("one line for lists")]
    spec_types: Annotated[Names, doc("drafters", ["ngram-mod"])]
    draft_n_max: Annotated[Width, doc("draft width of a draft-* type", 7)]
    flags: Annotated[Flags, doc("only --spec-* flags", {"spec-ngram-mod-n-max": 48})]
    draft_model: Annotated[str, doc("a key of models")]
    workload: Annotated[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")], doc("on which it must win", "copy")]
    against: Annotated[str, doc("the profile that it must beat there; default: default")]
    needs_mtp: Annotated[bool, doc("default: draft-mtp is among the types")]


@with_config(STRICT)
class CardFields(TypedDict, total=False):
    """One GPU of a host."""

    name: Annotated[Line, doc("as measurements name it", "NVIDIA GeForce RTX 3090")]
    vram: Annotated[
        Literal["unified"] | Size,
        doc("its memory, which its services must fit into, or `unified` with the host's", "24GiB"),
    ]
    id: Annotated[CardId, doc("CDI device or render node", "nvidia.com/gpu=0", "renderD128")]
    reserve: Annotated[Size, doc("kept free on this card")]


@with_config(STRICT)
class CacheTypes(TypedDict, total=False):
    """Types of the K and the V cache."""

    k: Annotated[str, doc("type of K", "q8_0")]
    v: Annotated[str, doc("type of V", "q8_0")]


@with_config(STRICT)
class HealthFields(TypedDict, total=False):
    """The readiness and liveness probe."""

    interval: Annotated[Duration, doc("between two probes once ready", "30s")]
    timeout: Annotated[Duration, doc("of one probe", "10s")]
    retries: Annotated[Count, doc("failures in a row that make it unhealthy", 3)]
    start_period: Annotated[Duration, doc("failures are not counted for this long after the start", "10m")]


@with_config(STRICT)
class RestartFields(TypedDict, total=False):
    """When and how often systemd restarts the service."""

    policy: Annotated[Literal["on-failure", "always", "no"], doc("systemd's Restart=")]
    delay: Annotated[Duration, doc("systemd's RestartSec=", "10s")]
    tries: Annotated[Count, doc("systemd's StartLimitBurst=", 20)]
    within: Annotated[Duration, doc("systemd's StartLimitIntervalSec=", "8h")]


@with_config(STRICT)
class LimitFields(TypedDict, total=False):
    """Bounds that the kernel holds."""

    memory: Annotated[Size, doc("of the service's processes", "64GiB")]
    cpus: Annotated[float, Field(ge=0.001, le=4096), BeforeValidator(number), doc("processors' worth of time", 8)]
    pids: Annotated[Tokens, doc("processes and threads", 2048)]
    shm: Annotated[Size, doc("of /dev/shm (podman)", "1GiB")]
    memlock: Annotated[Literal["unlimited"] | Size, doc("memory that may be locked", "unlimited")]
    nofile: Annotated[Tokens, doc("open files", 65536)]
