"""halogen-flash-server: a closed engine for one model family on one GPU, deployed as its container image.

Everything is set by environment, read once at the start. Only what the fleet says is set: a copy of a default
goes stale with the next image. Ground: README.md, docs/FLAGS.md and deploy/entrypoint.sh of
https://github.com/peonist-ai/halogen-flash-server, 0.1 to 0.17.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from quadgen.engines import halogen_env, halogen_memory
from quadgen.engines.base import Ask, BackendDevices, Box, Lever, NamedPath, Refusal, Served
from quadgen.engines.flags import Choice, FlagTable
from quadgen.engines.halogen_env import ENGINE_PORT
from quadgen.engines.halogen_memory import NATIVE_CONTEXT
from quadgen.problems import Problem
from quadgen.resolution import UNLIMITED, Argument, EngineEntry, Probe, Resolution, Share, Variable

if TYPE_CHECKING:
    from quadgen.resolve.report import Reporter
    from quadgen.speculation import ProfileSpec

_ROCM: Final = BackendDevices(
    prefix="ROCm", variable="HIP_VISIBLE_DEVICES", joined=",".join, render_nodes=True, always=("/dev/kfd",),
    nodes=("/dev/dri",), unit_nodes=("char-kfd", "char-drm"),
)  # fmt: skip
_BOX: Final = Box(seccomp="unconfined", arguments=("--ipc=host",))
_IMAGE: Final = "ghcr.io/peonist-ai/halogen-flash-server"
_FLAG: Final = (
    "halogen takes no flags of llama-server: everything is set by `env`, as docs/FLAGS.md of its repository says"
)
_DRAFTER: Final = "halogen drafts with the head of its own checkpoint, and nothing can be attached to it"
CLOSED: Final[Mapping[str, str]] = {
    "flags": _FLAG,
    "extra_args": _FLAG,
    "draft_model": _DRAFTER,
    "draft_device": f"{_DRAFTER}: it routes nothing to devices",
    "cache_type": "halogen has one KV cache type",
    "mmproj": "halogen reads images by HALOGEN_VISION_TOWER in `env`",
    "chat_template_file": "halogen has the chat template of its tokenizer",
    "lora": "halogen loads no adapters",
    "api_key": "halogen's API has no keys: put a proxy before it, and publish it on loopback",
}
"""Fields that llama-server has something for and halogen has not, with the reason."""
_LEAST_START: Final = 1200
"""Seconds in which its own probe does not count failures: a cold start reads about 68 GB (docker-compose.yml)."""
_LEAST_PROBE: Final = 35
"""Seconds that one probe of its own may take (docker-compose.yml); a shorter one calls a busy server dead."""
_MOST_SLOTS: Final = 64


@dataclass(frozen=True, slots=True)
class Halogen:
    """See `quadgen.engines.base.Engine`."""

    kind: str = "halogen"
    service: str = "halogen"
    port: int = 8731
    start_timeout: int = 1800
    context: int | None = NATIVE_CONTEXT
    backends: tuple[str, ...] = ("rocm",)
    runtimes: tuple[str, ...] = ("podman",)
    drafters: tuple[str, ...] = ("draft-mtp",)
    own_head: bool = True
    unmeasurable: str | None = "halogen has no /completion, by which a measurement asks for raw text"
    program: str = "/usr/local/bin/flash_serve"
    box: Box = _BOX
    variables: tuple[tuple[str, str], ...] = ()
    closed: Mapping[str, str] = field(default_factory=lambda: CLOSED)

    def flags(self, build: str | None) -> Choice:
        """No flags at all."""
        return Choice(table=FlagTable(build=build or self.kind, options=()), exact=True, note=None)

    def engine_refusals(self, fields: Mapping[str, Any]) -> Iterator[tuple[str, Refusal]]:
        """What an entry of `engines` asks for that it cannot be, each with its key."""
        if set(fields.get("backends") or ()) - set(self.backends):
            message = "halogen runs on AMD gfx1151 by ROCm, and on nothing else"
            yield "backends", ("closed-engine", message, "write `backends: [rocm]`")
        if "binary" in fields:
            message = "halogen is published as a container image alone"
            yield "binary", ("closed-engine", message, "leave `binary` out")
        if "flags" in fields:
            yield "flags", ("closed-engine", "halogen has no flags, so it has no flag table", "leave `flags` out")

    def cannot_draft(self, spec: "ProfileSpec") -> str | None:
        """Anything but its own head at its own width, or no speculation."""
        if not spec.spec_types or (spec.spec_types == ("draft-mtp",) and spec.draft_n_max is None and not spec.flags):
            return None
        return f"{_DRAFTER}; its head has one width"

    def variable(self, name: str, table: FlagTable, value: str | None) -> Refusal | None:  # noqa: ARG002 - it has no flags
        """Why the fleet may not set a variable."""
        return halogen_env.refusal(name, secret=value is None)

    def companions(self, report: "Reporter", file: str) -> tuple[str, ...]:
        """The quality sidecar and the tokenizer, without which it serves something worse, or nothing."""
        env = report.get("env") or {}
        stem, directory = file.removesuffix(".hgn"), file.rpartition("/")[0]
        sidecar = () if "HALOGEN_CK_OVERLAY" in env else (f"{stem}.overlay.hgn",)
        tokenizer = f"{directory}/tokenizer/tokenizer.json" if directory else "tokenizer/tokenizer.json"
        return sidecar if "HALOGEN_TOKENIZER" in env else (*sidecar, tokenizer)

    def devices(self, backend: str) -> BackendDevices | None:
        """How `backend` names its devices."""
        return _ROCM if backend == "rocm" else None

    def image(self, engine: EngineEntry, backend: str) -> str | None:  # noqa: ARG002 - there is one image a release
        """The image of a release; None where nobody says which."""
        return f"{_IMAGE}:{engine.build}" if engine.build else None

    def arguments(self, ask: Ask) -> tuple[Argument, ...]:
        """Engine and API in one container, so that the engine's port stays inside of it."""
        self._model(ask)
        report = ask.report
        if not ask.boxed and ask.host.runtime == "podman":
            open_port = f"its engine's port {ENGINE_PORT} has no authentication"
            message = f"halogen's API listens on every address there, and {open_port}"
            report.add("closed-engine", message, "network", hint="leave `network: host` out")
        if ask.port == ENGINE_PORT:
            message = (
                f"{ENGINE_PORT} is the port of halogen's engine, which has no authentication and is never published"
            )
            report.add("unexpected-value", message, "port", hint=f"such as {self.port}")
        if report.get("slots", 1) > _MOST_SLOTS:
            report.add("unexpected-value", f"halogen takes at most {_MOST_SLOTS} slots", "slots")
        if any(isinstance(name, str) for name in report.get("devices") or ()):
            message = "halogen computes on the one GPU of its machine, and routes nothing to devices"
            report.add("closed-engine", message, "devices", hint="leave `devices` out")
        return (Argument(("all",), "rule: engine and API in one container"),)

    def _model(self, ask: Ask) -> None:
        model, report = ask.model, ask.report
        path = ("models", model.name)
        if model.file is not None and not model.file.endswith(".hgn"):
            message = f"halogen's checkpoint is an .hgn file, and {model.file} is none"
            hint = "its image writes one out of a GGUF of its model family: convert IN.gguf OUT.hgn"
            report.elsewhere(Problem(code="closed-engine", message=message, path=(*path, "file"), hint=hint))
        if model.url is not None:
            message = "halogen fetches its checkpoint from a repository of the hub alone"
            report.elsewhere(Problem(code="closed-engine", message=message, path=(*path, "url"), hint="use `hf:`"))
        if model.hf is not None and ":" in model.hf:
            message = "halogen's repositories hold one checkpoint, so there is nothing to choose by `:`"
            report.elsewhere(Problem(code="closed-engine", message=message, path=(*path, "hf"), hint="write org/repo"))
        if model.mtp not in (None, True) and (model.file or "").endswith(".hgn"):
            message = "every checkpoint of halogen has its MTP head in the file"
            hint = "leave `mtp` out, and use `profile: none` for a server that does not speculate"
            report.elsewhere(Problem(code="closed-engine", message=message, path=(*path, "mtp"), hint=hint))

    def paths(self, table: FlagTable, arguments: Iterable[Argument]) -> tuple[NamedPath, ...]:  # noqa: ARG002 - it takes none
        """No argument names a path: those of its variables are looked at where they are read."""
        return ()

    def environment(self, ask: Ask) -> tuple[Variable, ...]:
        """What the fleet says of the model, the context, the slots and the drafter."""
        halogen_env.check(ask)
        return halogen_env.decided(ask, self.port)

    def probe(self, ask: Ask) -> Probe | None:
        """The image's own: the API asks the engine, and a TCP connect would prove nothing."""
        report = ask.report
        health = report.get("health", {})
        start: int = report.get("start_timeout", self.start_timeout)
        if start < _LEAST_START:
            message = f"halogen reads about 68 GB before it answers, and {start} s may kill it while it loads"
            report.add("unexpected-value", message, "start_timeout", hint=f"at least {_LEAST_START // 60}m")
        if health is False:
            return None
        timeout: int = health.get("timeout", _LEAST_PROBE)
        if timeout < _LEAST_PROBE:
            message = f"halogen answers its probe between two pieces of work, which may take {_LEAST_PROBE} s"
            report.add("unexpected-value", message, "health", "timeout", hint=f"at least {_LEAST_PROBE}s")
        period: int = health.get("start_period", min(_LEAST_START, start - 1))
        if period < min(_LEAST_START, start - 1):
            message = f"halogen loads for minutes, and after {period} s its failures would count"
            report.add("unexpected-value", message, "health", "start_period", hint=f"at least {_LEAST_START // 60}m")
        return Probe(
            command=("/usr/local/bin/halogen-healthcheck", "api"),
            interval=health.get("interval", 10),
            startup_interval=10,
            timeout=timeout,
            retries=health.get("retries", 3),
            start_period=period,
            path="/health",
        )

    def memlock(self, arguments: Sequence[Argument]) -> int:  # noqa: ARG002 - it pins its weights whatever it is told
        """As much as it wants."""
        return UNLIMITED

    def with_context(self, ask: Ask, arguments: Sequence[Argument], context: int) -> tuple[Ask, tuple[Argument, ...]]:
        """The same with a conversation of so many tokens."""
        return replace(ask, context=context), tuple(arguments)

    def served(self, service: Resolution) -> Served:
        """By what its variables say."""
        return halogen_env.served(service)

    def levers(self, service: Resolution) -> tuple[Lever, ...]:
        """The pool and the prefill arena, as far as they are not small yet."""
        return halogen_memory.levers(service)

    def memory(self, ask: Ask, arguments: Sequence[Argument]) -> tuple[Share, ...]:  # noqa: ARG002 - its variables say it
        """Weights, the device side, and what it leaves free for the table that it reads through the file cache."""
        return halogen_memory.memory(ask)


HALOGEN: Final = Halogen()
