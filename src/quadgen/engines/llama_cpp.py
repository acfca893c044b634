"""llama.cpp's llama-server: its arguments, devices, images and probe."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from quadgen.engines import llama_devices, llama_env, llama_memory
from quadgen.engines.base import Ask, BackendDevices, Box, NamedPath, Refusal, Served
from quadgen.engines.drafters import drafts
from quadgen.engines.flags import Choice, FlagTable, choose, shipped_tables
from quadgen.engines.llama_decided import check_decided, every_layer
from quadgen.engines.llama_drafting import check_drafting
from quadgen.engines.llama_extra import extra_arguments
from quadgen.engines.llama_flags import canonical, flag_arguments, profile_arguments, stated
from quadgen.engines.llama_options import LARGEST, QUANTISED
from quadgen.engines.llama_paths import named_paths
from quadgen.engines.llama_together import check_together
from quadgen.engines.llama_told import served
from quadgen.engines.side_doors import NOWHERE
from quadgen.facts import kv
from quadgen.problems import Problem
from quadgen.resolution import UNLIMITED, Argument, EngineEntry, Probe, Resolution, Share, Variable

if TYPE_CHECKING:
    from quadgen.resolve.report import Reporter
    from quadgen.speculation import ProfileSpec

INSIDE_RULE: Final = "rule: inside the container's own network, where PublishPort= decides who reaches it"
_LOCKED: Final = frozenset((name, mode) for name in ("--load-mode", "-lm") for mode in ("mlock", "mmap+mlock"))
"""Arguments that make it lock the model in memory, beside the old --mlock."""
_BOX: Final = Box(read_only=True, masks=("/etc/llama.cpp",))


@dataclass(frozen=True, slots=True)
class LlamaCpp:
    """See `quadgen.engines.base.Engine`."""

    kind: str = "llama.cpp"
    service: str = "llama-server"
    port: int = 8080
    start_timeout: int = 900
    context: int | None = None
    backends: tuple[str, ...] = ("cuda", "rocm", "vulkan", "sycl", "cpu")
    runtimes: tuple[str, ...] = ("podman", "systemd")
    drafters: tuple[str, ...] = (
        "draft-simple", "draft-eagle3", "draft-mtp", "draft-dflash", "draft-dspark",
        "ngram-simple", "ngram-map-k", "ngram-map-k4v", "ngram-mod", "ngram-cache",
    )  # fmt: skip
    own_head: bool = False
    unmeasurable: str | None = None
    program: str = "/app/llama-server"
    box: Box = _BOX
    variables: tuple[tuple[str, str], ...] = (("XDG_CONFIG_HOME", NOWHERE),)
    closed: Mapping[str, str] = field(default_factory=dict)

    def flags(self, build: str | None) -> Choice:
        """The shipped table that speaks for a build."""
        return choose(shipped_tables(), build)

    def engine_refusals(self, fields: Mapping[str, Any]) -> Iterator[tuple[str, Refusal]]:
        """What an entry of `engines` asks for that it cannot be."""
        if {"cuda", "rocm"} <= set(fields.get("backends") or ()):
            # ggml/include/ggml-cuda.h: one source is compiled for one of the two
            message = "no build has both cuda and rocm: one source is compiled for the one or the other"
            yield "backends", ("does-not-compose", message, "declare two engines")

    def cannot_draft(self, spec: "ProfileSpec") -> str | None:  # noqa: ARG002 - what it can draft with depends on files
        """Nothing that a profile can say: which types go together is a rule of its own."""
        return None

    def variable(self, name: str, table: FlagTable, value: str | None) -> Refusal | None:
        """Why the fleet may not set a variable."""
        return llama_env.refusal(name, table, value)

    def companions(self, report: "Reporter", file: str) -> tuple[str, ...]:  # noqa: ARG002 - shards are known by their names
        """No file but the checkpoint's own."""
        return ()

    def memlock(self, arguments: Sequence[Argument]) -> int | None:
        """As much as it wants where it is told to lock its model: it warns and goes on where it may not."""
        locked = any(each.words[0] == "--mlock" or each.words in _LOCKED for each in arguments)
        return UNLIMITED if locked else None

    def with_context(self, ask: Ask, arguments: Sequence[Argument], context: int) -> tuple[Ask, tuple[Argument, ...]]:
        """The same with a conversation of so many tokens."""
        said = str(context * ask.report.get("slots", 1))
        other = tuple(each._replace(words=(each.words[0], said)) if each.words[0] == "--ctx-size" else each
                      for each in arguments)  # fmt: skip
        return replace(ask, context=context), other

    def levers(self, service: Resolution) -> tuple[()]:  # noqa: ARG002 - what helps depends on the checkpoint
        """Nothing that is known without the checkpoint's header."""
        return ()

    def served(self, service: Resolution) -> Served:
        """By what its arguments say."""
        return served(service)

    def memory(self, ask: Ask, arguments: Sequence[Argument]) -> tuple[Share, ...]:
        """By what is recorded of its files; the weights alone where only their size is declared."""
        return llama_memory.shares(ask, arguments)

    def devices(self, backend: str) -> BackendDevices | None:
        """How `backend` names its devices; None on cpu."""
        return llama_devices.DEVICES.get(backend)

    def image(self, engine: EngineEntry, backend: str) -> str | None:
        """The published image of a build; None where the backends are not those of one image."""
        return llama_devices.image(engine, backend)

    def paths(self, table: FlagTable, arguments: Iterable[Argument]) -> Iterator[NamedPath]:
        """The files and directories that arguments name."""
        return named_paths(table, arguments)

    def environment(self, ask: Ask) -> tuple[Variable, ...]:
        """Where a fetched model is kept."""
        return (Variable("LLAMA_CACHE", ask.paths.models_dir, "models_dir"),) if ask.model.file is None else ()

    def probe(self, ask: Ask) -> Probe | None:
        """GET /health answers 503 while the model loads and 200 afterwards, without a key."""
        health = ask.report.get("health", {})
        if health is False:
            return None
        secure = stated(ask, "--ssl-cert-file") is not None
        said = stated(ask, "--api-prefix")
        prefix = str(said[1]) if said is not None else ""
        path = f"{prefix}/health"
        url = f"{'https' if secure else 'http'}://{_reachable(ask.listen)}:{ask.port}{path}"
        timeout: int = health.get("timeout", 10)
        return Probe(
            command=_get(url, timeout, insecure=secure),
            interval=health.get("interval", 30),
            startup_interval=1,
            timeout=timeout,
            retries=health.get("retries", 3),
            start_period=health.get("start_period"),
            path=path,
            secure=secure,
        )

    def arguments(self, ask: Ask) -> tuple[Argument, ...]:
        """Every decision as a flag: variables are never used, since `LLAMA_ARG_SPEC_TYPE` adds to `--spec-type`."""
        decided = [
            *self._model(ask),
            *self._server(ask),
            *self._compute(ask),
            *self._speculation(ask),
            *self._files(ask),
        ]
        check_decided(ask, decided)
        if not (ask.report.get("flags") or ask.report.get("extra_args")):
            return tuple(decided)
        own = [canonical(ask, argument.words[0]) for argument in decided]
        flags = flag_arguments(ask, frozenset(own))
        replaced = {canonical(ask, argument.words[0]) for argument in flags}
        kept = [argument for name, argument in zip(own, decided, strict=True) if name not in replaced]
        given = (*kept, *flags, *extra_arguments(ask, [*kept, *flags]))
        check_together(ask, given)
        return given

    def _model(self, ask: Ask) -> list[Argument]:
        model = ask.model
        if model.hf is not None:
            repo = model.hf.partition(":")[0]
            parts = repo.split("/")
            whole = len(parts) == 2  # noqa: PLR2004 - org/repo
            found = [Argument(("--hf-repo", model.hf if whole else "/".join(parts[:2])), "model")]
            if not whole:
                found.append(Argument(("--hf-file", "/".join(parts[2:])), "model"))
            if ask.paths.mmproj is None:
                rule = "rule: a projector that the repository happens to hold is not fetched unasked"
                found.append(Argument(("--no-mmproj",), rule))
            return found
        if (model.file or "").endswith(".hgn"):
            message = f"{model.file} is a checkpoint of halogen, and llama-server reads GGUF files"
            problem = Problem(code="unexpected-value", message=message, path=("models", model.name, "file"))
            ask.report.elsewhere(problem)
        found = [Argument(("--model", ask.paths.model), "model")]
        return found if model.url is None else [Argument(("--model-url", model.url), "model"), *found]

    def _server(self, ask: Ask) -> list[Argument]:
        report = ask.report
        slots = report.get("slots", 1)
        if ask.context * slots > LARGEST:
            message = f"`context` x `slots` is {ask.context * slots} tokens, and llama-server reads at most {LARGEST}"
            report.add("unexpected-value", message, "context")
        found = [
            Argument(("--alias", report.get("alias", ask.model.name)), "alias"),
            Argument(("--host", ask.listen), INSIDE_RULE if ask.boxed else "bind"),
            Argument(("--port", str(ask.port)), "port"),
            Argument(("--ctx-size", str(ask.context * slots)), "context" if slots == 1 else "context, slots"),
            Argument(("--parallel", str(slots)), "slots"),
            Argument(("--metrics",), "rule: every server is observable"),
        ]
        if ask.api_key_file is not None:
            found.append(Argument(("--api-key-file", ask.api_key_file), "api_key"))
        elif ask.exposed:
            found.append(Argument(("--no-slots",), "rule: an exposed server without a key hides its conversations"))
        return found

    def _compute(self, ask: Ask) -> list[Argument]:
        found: list[Argument] = []
        if ask.backend != "cpu":
            rule = "rule: a lost card is an error, never a slow server"
            found.append(Argument(("--n-gpu-layers", every_layer(ask)), rule))
            if ask.engine.table.find("--fit") is not None:
                found.append(Argument(("--fit", "off"), rule))
            if ask.devices.names:  # none after a refusal
                found.append(Argument(("--device", ",".join(ask.devices.names)), "devices"))
        elif ask.engine.backends - {"cpu"}:
            found.append(Argument(("--device", "none"), "backend"))
        cache = ask.report.get("cache_type")
        kinds = {"k": cache, "v": cache} if isinstance(cache, str) else (cache or {})
        for side in ("k", "v"):
            if side in kinds:
                self._check_cache(ask, kinds[side])
                found.append(Argument((f"--cache-type-{side}", kinds[side]), "cache_type"))
        facts = ask.known.model
        if kinds and facts is not None:
            types = kv.Context(ask.context, 1, type_k=kinds.get("k", "f16"), type_v=kinds.get("v", "f16"))
            reason = kv.refusal(facts, types)
            if reason is not None:
                ask.report.add("does-not-compose", reason, "cache_type", notes=("the server ends at load",))
        if kinds.get("v") in QUANTISED:
            said = stated(ask, "--flash-attn")
            if said is None:
                found.append(Argument(("--flash-attn", "on"), "rule: a quantised V cache needs it"))
            elif said[1] in (False, "off", "auto"):  # other words are none of its own
                ask.report.add(
                    "does-not-compose", "a quantised V cache needs flash attention, and `flash-attn` is not on",
                    *said[0], hint="set `flash-attn: on`, or quantise only K: cache_type: {k: q8_0}",
                )  # fmt: skip
        return found

    def _check_cache(self, ask: Ask, kind: str) -> None:
        option = ask.engine.table.find("--cache-type-k")
        if option is not None and option.values and kind not in option.values:
            ask.report.add(
                "bad-flag-value",
                f"there is no cache type {kind}",
                "cache_type",
                hint=f"one of {', '.join(option.values)}",
            )

    def _speculation(self, ask: Ask) -> list[Argument]:
        decision = ask.decision
        if not decision.types:
            return []
        found = [Argument(("--spec-type", ",".join(decision.types)), "profile")]
        if decision.draft_n_max is not None:
            found.append(Argument(("--spec-draft-n-max", str(decision.draft_n_max)), "profile"))
        drafter = ask.paths.draft_model or ask.paths.head
        if drafter is not None:
            found.append(Argument(("--spec-draft-model", drafter), "profile" if ask.paths.draft_model else "mtp"))
        device = ask.report.get("draft_device")
        if device is not None and drafts(decision.types):
            found.append(Argument(("--spec-draft-device", ",".join(device)), "draft_device"))
        elif drafter is not None and any(isinstance(item, str) for item in ask.report.get("devices") or ()):
            # no variable hides the other cards; up to b10435 a drafter has them all, common/speculative.cpp:2319
            rule = "rule: a drafter stays on the devices of its service"
            found.append(Argument(("--spec-draft-device", ",".join(ask.devices.names)), rule))
        found += profile_arguments(ask)
        check_drafting(ask)
        return found

    def _files(self, ask: Ask) -> list[Argument]:
        paths = ask.paths
        found = [] if paths.mmproj is None else [Argument(("--mmproj", paths.mmproj), "mmproj")]
        if paths.chat_template_file is not None:
            found.append(Argument(("--chat-template-file", paths.chat_template_file), "chat_template_file"))
        if paths.lora:
            found.append(Argument(("--lora", ",".join(paths.lora)), "lora"))
        return found


def _get(url: str, timeout: int, *, insecure: bool) -> tuple[str, ...]:
    """A GET that passes no proxy and fails on an HTTP error; a certificate of its own is not checked."""
    unchecked = ("-k",) if insecure else ()
    return ("curl", "-fs", *unchecked, "--noproxy", "*", "--max-time", str(timeout), "-o", "/dev/null", url)


def _reachable(listen: str) -> str:
    """The address at which a server that listens on `listen` answers from beside it."""
    if listen in ("0.0.0.0", "localhost"):  # noqa: S104 - compared, not bound
        return "127.0.0.1"
    if listen == "::":
        return "[::1]"
    return f"[{listen}]" if ":" in listen else listen


LLAMA_CPP: Final = LlamaCpp()
