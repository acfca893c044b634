"""The types of fields that are not plain scalars: lists, flags, secrets, devices."""

from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from quadgen.fleet.values import VARIABLE, FlagValue, Line, Text, name, wrong

BACKENDS: Final = ("cuda", "rocm", "vulkan", "sycl", "cpu")
Backend = Literal["cuda", "rocm", "vulkan", "sycl", "cpu"]
Runtime = Literal["podman", "systemd"]
Level = Literal["warn", "refuse"]
Degree = Literal["ignore", "warn", "refuse"]

STRICT: Final = ConfigDict(extra="forbid", strict=True)


def doc(text: str, *examples: object) -> Any:  # noqa: ANN401 - pydantic's own FieldInfo
    """What a field is, for `quadgen schema`."""
    return Field(description=text, examples=list(examples) or None)


def list_of_one(value: Any) -> Any:  # noqa: ANN401 - YAML holds anything
    """One text where a list of texts is meant."""
    return [value] if isinstance(value, str) else value


def named(what: str) -> BeforeValidator:
    """A key that becomes a directory, a unit or a container."""
    return BeforeValidator(lambda value: name(value, what) if isinstance(value, str) else value)


def _variable(value: Any) -> Any:  # noqa: ANN401 - a key is always text
    if not VARIABLE.fullmatch(value):
        raise wrong(f"{value!r} cannot name an environment variable: letters, digits and `_`", code="unsafe-value")
    return value


def _flag_name(value: Any) -> Any:  # noqa: ANN401 - a key is always text
    if value.startswith("-"):
        raise wrong(f"{value!r} is written without its dashes here", f"write {value.lstrip('-')}")
    if "=" in value or " " in value or not value:
        raise wrong(f"{value!r} is no flag name", "write the name as the key and its value as the value")
    return value


def head(value: Any) -> Any:  # noqa: ANN401 - YAML holds anything
    """`mtp` of a model."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.endswith(".gguf"):
        return value
    raise wrong("takes true (the head is in the file), false, or the file name of a head of its own")


def api_key(value: Any) -> Any:  # noqa: ANN401 - YAML holds anything
    """`api_key` of a service: never the key itself."""
    if value is None or value is False:
        return value
    if isinstance(value, dict) and set(value) == {"secret"} and isinstance(value["secret"], str):
        return {"secret": name(value["secret"], "secret")}
    raise wrong(
        "takes {secret: NAME}, or false for a server that is open on purpose",
        "keep the key out of git: podman secret create NAME -, or a systemd credential, then api_key: {secret: NAME}",
        "literal-secret",
    )


def secret_target(value: Any) -> Any:  # noqa: ANN401 - a key is always text
    """A key of `secrets`: a variable, or an absolute path."""
    if not value.startswith("/"):
        return _variable(value)
    if "/../" in f"{value}/" or "," in value:
        raise wrong("takes an absolute path without .. and commas", code="unsafe-value")
    return value


def card_id(value: Any) -> Any:  # noqa: ANN401 - YAML holds anything
    """`id` of a card."""
    text = str(value)
    if not isinstance(value, str) or not text.isprintable() or " " in text or text.startswith("-"):
        raise wrong(
            "takes a CDI device (nvidia.com/gpu=0, nvidia.com/gpu=GPU-...) or a render node (renderD128)",
            "a leading - makes Quadlet drop the device in silence where it is missing"
            if text.startswith("-")
            else None,
        )
    return value


Names = Annotated[list[str], BeforeValidator(list_of_one)]
Lines = Annotated[list[Line], BeforeValidator(list_of_one)]
Flags = dict[Annotated[str, BeforeValidator(_flag_name)], FlagValue]
Environment = dict[Annotated[str, BeforeValidator(_variable)], Text | None]
