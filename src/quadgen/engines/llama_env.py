"""Variables that a fleet may not give llama-server: they would undo a decision, or be a key in git.

They are read before the arguments, which take their place, but for `LLAMA_ARG_SPEC_TYPE`, whose types are added to.
A removed one ends the server; one that a build does not read is without effect and without a word
(common_params_parse_ex in common/arg.cpp, https://github.com/ggml-org/llama.cpp).
"""

from collections.abc import Mapping
from typing import Final

from quadgen.engines.base import Refusal
from quadgen.engines.flag_table import FlagTable, Option
from quadgen.engines.flags import shipped_tables
from quadgen.engines.llama_flags import in_a_profile
from quadgen.engines.llama_options import OWNED
from quadgen.engines.llama_values import truth
from quadgen.engines.side_doors import A_PROFILE, field_for, is_speculative, reaches_speculation_env

_LITERAL_KEYS: Final = frozenset({"LLAMA_API_KEY", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"})
_LLAMA_ARG: Final = "LLAMA_ARG_"
_ADDS_UP: Final = "LLAMA_ARG_SPEC_TYPE"
_DECIDED: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (
            "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
            "GPU_DEVICE_ORDINAL", "ONEAPI_DEVICE_SELECTOR", "ZE_AFFINITY_MASK", "GGML_VK_VISIBLE_DEVICES",
            "GGML_CUDA_DEVICES",  # a number of devices, whatever cards there are: ggml/src/ggml-cuda/ggml-cuda.cu
            "GGML_DISABLE_VULKAN",  # ggml/src/ggml-backend-reg.cpp
        ),
        "devices",
    ),
    **dict.fromkeys(("AIP_MODE", "AIP_HTTP_PORT", "AIP_HEALTH_ROUTE", "AIP_PREDICT_ROUTE"), "port"),
}  # fmt: skip
"""Variables that undo what a field decides: they hide cards, and move the port (tools/server/server-http.cpp)."""
_OF_A_ROUTER: Final = frozenset({"LLAMA_SERVER_CHILD_MODE", "LLAMA_SERVER_ROUTER_PORT"})
"""What a router gives its children, which end with their standard input (tools/server/server-models.cpp)."""


def refusal(name: str, table: FlagTable, value: str | None) -> Refusal | None:
    """Why `name` may not be set; `value` is None where a secret of the host holds it."""
    option = table.by_env(name)
    if option is not None and option.removed is not None:
        message = f"{name} ends llama-server {table.build}, which removed {option.canonical}"
        return "removed-flag", message, in_a_profile(option.removed)
    if reaches_speculation_env(name) or (option is not None and is_speculative(option)):
        return _reaches_speculation(name)
    if name in _LITERAL_KEYS:
        hint = f"use `secrets: {{{name}: NAME}}`, or `api_key: {{secret: NAME}}`"
        return None if value is None else ("literal-secret", f"{name} in `env` is a key in git", hint)
    if option is not None:
        return "duplicate-flag", f"{name} doubles {option.canonical} of llama-server", _instead(name, option, value)
    if name in _DECIDED:
        return "unexpected-value", f"{name} is decided by `{_DECIDED[name]}`", f"use `{_DECIDED[name]}`"
    if name in _OF_A_ROUTER:
        return "unexpected-value", f"{name} makes llama-server the child of a router", "leave it out"
    if name.startswith(_LLAMA_ARG):
        return _not_read(name, table, value)
    return None


def _reaches_speculation(name: str) -> Refusal:
    code = "speculation-outside-profile"
    if name == _ADDS_UP:
        return code, f"{name} adds its types to those of --spec-type, and only a profile may say them", A_PROFILE
    owner = field_for(name)
    hint = f"use the service's `{owner}`" if owner else A_PROFILE
    return code, f"{name} reaches speculation, which only a profile may", hint


def _instead(name: str, option: Option, value: str | None) -> str:
    """Where a fleet says what a variable of this option would; NO_ in its name is off, whatever its value."""
    if option.canonical in OWNED:
        return f"use `{OWNED[option.canonical]}`"
    key = option.canonical.removeprefix("--")
    off = name != option.env or (value is not None and truth(value) is False)
    said = "…" if option.arity else "false" if off else "true"
    return f"write it as flags: {{{key}: {said}}}"


def _not_read(name: str, table: FlagTable, value: str | None) -> Refusal:
    """Refuse a variable that has no effect on this build, by what other builds read of it."""
    message = f"llama-server {table.build} does not read {name}, and says nothing of it"
    for other in reversed(tuple(shipped_tables().values())):
        option = other.by_env(name)
        if option is not None:
            return "removed-flag" if option.deprecated else "unknown-flag", message, _instead(name, option, value)
    return "unknown-flag", message, "write the flag under `flags`, without dashes"
