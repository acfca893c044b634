"""The types of fields that are not plain scalars: lists, flags, secrets, devices."""

import re
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, ConfigDict, Field, PlainValidator, WithJsonSchema

from quadgen.fleet.values import NAME, VARIABLE, FileName, FlagValue, Line, Text, file_name, name, wrong

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


def drafter_devices(value: Any) -> Any:  # noqa: ANN401 - YAML holds anything
    """`draft_device` of a service: a device name of the engine, or several. A position in `gpus` is none."""
    items = list_of_one(value)
    if not isinstance(items, list) or not items or not all(type(item) is str and item for item in items):
        hint = "such as CUDA1 or Vulkan0, counted among the cards that the service sees, or none for the CPU"
        raise wrong("takes a device name of the engine, or a list of them", hint)
    return items


def named(what: str) -> BeforeValidator:
    """A key that becomes a directory, a unit or a container."""
    return BeforeValidator(lambda value: name(value, what) if isinstance(value, str) else value)


def _variable(value: Any) -> Any:  # noqa: ANN401 - a key is always text
    if not VARIABLE.fullmatch(value):
        raise wrong(f"{value!r} cannot name an environment variable: letters, digits and `_`", code="unsafe-value")
    return value


_FLAG: Final = re.compile(r"-{0,2}[A-Za-z0-9][A-Za-z0-9_.-]*")
"""A flag with its dashes is refused by who knows what it is called without them."""


def _flag_name(value: Any) -> Any:  # noqa: ANN401 - a key is always text
    if not _FLAG.fullmatch(value):
        raise wrong(f"{value!r} is no flag name", "write the name as the key and its value as the value")
    return value


def head(value: Any) -> Any:  # noqa: ANN401 - YAML holds anything
    """`mtp` of a model."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.endswith(".gguf"):
        return file_name(value)
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


_CARD: Final = re.compile(
    r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+=[A-Za-z0-9_.:-]+|(?:GPU|MIG)-[A-Za-z0-9_./-]+|(?:renderD|card)[0-9]+|"
    r"/dev/[A-Za-z0-9_./-]+"
)
"""A CDI device, a UUID of NVIDIA's, a node of /dev/dri, another node; a colon in its path would end it."""


def card_id(value: Any) -> Any:  # noqa: ANN401 - YAML holds anything
    """`id` of a card."""
    text = str(value)
    if not isinstance(value, str) or not _CARD.fullmatch(text) or "/../" in text:
        raise wrong(
            "takes a CDI device (nvidia.com/gpu=0, nvidia.com/gpu=GPU-...) or a render node (renderD128)",
            "a leading - makes Quadlet drop the device in silence where it is missing"
            if text.startswith("-")
            else None,
        )
    return value


def _version(value: Any) -> Any:  # noqa: ANN401 - YAML holds anything
    if type(value) is not int:  # pydantic takes 1.0 and true for 1
        raise wrong("takes the number of a format", "write version: 1")
    return value


def _like(pattern: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": pattern})


def _key(pattern: str) -> WithJsonSchema:
    # pydantic makes patternProperties of a plain pattern, which leaves every other key free
    return WithJsonSchema({"type": "string", "allOf": [{"pattern": pattern}]})


_NAME: Final = f"^{NAME.pattern}$"
_ONE_OR_MORE: Final = WithJsonSchema({"type": ["string", "array"], "minLength": 1, "items": {"type": "string"}})
_API_KEY: Final = WithJsonSchema({
    "anyOf": [
        {"const": False},
        {"type": "object", "properties": {"secret": {"type": "string"}}, "required": ["secret"],
         "additionalProperties": False},
        {"type": "null"},
    ]
})  # fmt: skip

Names = Annotated[list[str], BeforeValidator(list_of_one), _ONE_OR_MORE]
DrafterDevices = Annotated[list[str], PlainValidator(drafter_devices), _ONE_OR_MORE]
Lines = Annotated[list[Line], BeforeValidator(list_of_one), _ONE_OR_MORE]
Files = Annotated[list[FileName], BeforeValidator(list_of_one), _ONE_OR_MORE]
Flags = dict[Annotated[str, BeforeValidator(_flag_name), _key(r"^[^-=\s][^=\s]*$")], FlagValue]
Environment = dict[Annotated[str, BeforeValidator(_variable), _key(f"^{VARIABLE.pattern}$")], Text | None]
Head = Annotated[
    bool | str, PlainValidator(head), WithJsonSchema({"type": ["boolean", "string"], "pattern": r"\.gguf$"})
]
CardId = Annotated[str, PlainValidator(card_id), _like(r"^[^\s-]\S*$")]
ApiKey = Annotated[dict[str, str] | Literal[False] | None, PlainValidator(api_key), _API_KEY]
Secrets = dict[
    Annotated[str, BeforeValidator(secret_target), _key(f"^(?:/.*|{VARIABLE.pattern})$")],
    Annotated[str, named("secret"), _like(_NAME)] | None,
]
Version = Annotated[Literal[1], BeforeValidator(_version)]
HostName = Annotated[str, named("host"), _key(_NAME)]
ServiceName = Annotated[str, named("service"), _key(_NAME)]
