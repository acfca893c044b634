"""What a running server says of itself as JSON, at /slots, /props, /v1/models and /health.

A key may be missing, since builds differ; a value of another kind is refused. Of llama-server b10434 to
b11434, as its tools/server/server-context.cpp writes them, and of halogen 0.11 to 0.16
(https://github.com/peonist-ai/halogen-flash-server).
"""

from dataclasses import dataclass
from typing import Any, Final

_MOST: Final = 2**53
"""A number of tokens or slots beyond this is none."""
_TYPES: Final = "speculative.types"


class Misshapen(ValueError):  # noqa: N818 - it is a verdict on an answer, not a fault of the program
    """An answer of another shape: `str` completes "it answers …"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A conversation that a server can hold."""

    id: int
    context: int | None = None
    """Tokens."""
    speculative: bool | None = None
    """Whether any implementation is there and runs: what to go by."""
    requested: tuple[str, ...] | None = None
    """The --spec-type of the command line, types that were passed over included; None before the slot's first task."""
    is_processing: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Properties:
    """What /props says. Its own `speculative.types` is always "none", and not read."""

    alias: str | None = None
    model_path: str | None = None
    build: str | None = None
    """As in `b11434-abcdef1`; a build from a shallow clone or an archive counts from 1 or says 0."""
    slots: int | None = None
    context: int | None = None
    """Tokens of each slot."""
    is_sleeping: bool | None = None
    """Whether the model is unloaded until a request comes (--sleep-idle-seconds)."""
    is_router: bool = False
    """Whether it is asked for itself rather than for one of its models, and so knows nothing of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One of /v1/models."""

    id: str
    aliases: tuple[str, ...] = ()
    owner: str | None = None
    """`llamacpp`, `halogen`."""
    context: int | None = None
    """Tokens; of one slot."""
    trained: int | None = None
    """Tokens for which it was trained."""
    status: str | None = None
    """Of a router's: `loaded`, `unloaded`, ..."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What /health says: of halogen a whole table, of llama-server that it is well."""

    status: str | None = None
    engine: str | None = None
    """`halogen` where it is that one's table."""
    version: str | None = None
    """Of its engine."""
    drafters: tuple[str, ...] | None = None
    """Those that the loaded checkpoint has; `serial` is none at all."""
    drafter: str | None = None
    """The one of requests that name none."""
    slots: int | None = None
    context: int | None = None
    """Tokens that a slot holds."""


def slots(answer: object) -> tuple[Slot, ...]:
    """Read /slots. Raises `Misshapen`."""
    return tuple(_slot(_table(each, "a slot")) for each in _list(answer, "the slots"))


def _slot(each: dict[str, Any]) -> Slot:
    number = _number(each, "id")
    if number is None:
        raise Misshapen("a slot without id")
    params = _table(each.get("params"), "params") if each.get("params") is not None else {}
    types = _text(params, _TYPES)
    return Slot(
        id=number,
        context=_number(each, "n_ctx"),
        speculative=_truth(each, "speculative"),
        requested=None if types is None else _types(types),
        is_processing=_truth(each, "is_processing"),
    )


def _types(text: str) -> tuple[str, ...]:
    """A list that begins with `none` whatever follows."""
    named = (name.strip() for name in text.split(","))
    return tuple(dict.fromkeys(name for name in named if name and name != "none"))


def properties(answer: object) -> Properties:
    """Read /props. Raises `Misshapen`."""
    said = _table(answer, "the properties")
    router = _text(said, "role") == "router"
    settings = said.get("default_generation_settings")
    context = None if settings is None else _number(_table(settings, "default_generation_settings"), "n_ctx")
    return Properties(
        alias=None if router else _text(said, "model_alias"),  # a router's is made up for its web page
        model_path=None if router else _text(said, "model_path"),
        build=_text(said, "build_info"),
        slots=_number(said, "total_slots"),
        context=None if router else context,
        is_sleeping=_truth(said, "is_sleeping"),
        is_router=router,
    )


def models(answer: object) -> tuple[str, ...]:
    """The names of /v1/models, aliases included. Raises `Misshapen`."""
    return tuple(dict.fromkeys(name for model in listed(answer) for name in (model.id, *model.aliases)))


def listed(answer: object) -> tuple[Model, ...]:
    """Read /v1/models. Raises `Misshapen`."""
    listed = _table(answer, "the models").get("data")
    return tuple(_model(_table(each, "a model")) for each in _list(listed, "the models"))


def _model(each: dict[str, Any]) -> Model:
    name = _text(each, "id")
    if name is None:
        raise Misshapen("a model without id")
    meta = {} if each.get("meta") is None else _table(each["meta"], "meta")
    status = each.get("status")
    return Model(
        id=name,
        aliases=_names(each, "aliases") or (),
        owner=_text(each, "owned_by"),
        context=_number(meta, "n_ctx"),
        trained=_number(meta, "n_ctx_train"),
        status=None if status is None else _text(_table(status, "status"), "value"),
    )


def health(answer: object) -> Health:
    """Read /health. Raises `Misshapen`."""
    said = _table(answer, "its health")
    version = said.get("version")
    drafters = _names(said, "drafters_available")
    return Health(
        status=_text(said, "status"),
        engine="halogen" if drafters is not None or _text(said, "checkpoint_format") == "hgn" else None,
        version=_text(version, "engine") if isinstance(version, dict) else None,
        drafters=drafters,
        drafter=_text(said, "drafter_default"),
        slots=_number(said, "slots"),
        context=_number(said, "slot_ctx"),
    )


def _table(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Misshapen(f"with {_kind(value)} where {what} should be")
    return value


def _list(value: object, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise Misshapen(f"with {_kind(value)} where {what} should be")
    return value


def _text(table: dict[str, Any], key: str) -> str | None:
    value = table.get(key)
    if value is not None and not isinstance(value, str):
        raise Misshapen(f"with {_kind(value)} for {key}")
    return _plain(value) or None if value is not None else None


def _truth(table: dict[str, Any], key: str) -> bool | None:
    value = table.get(key)
    if value is not None and not isinstance(value, bool):
        raise Misshapen(f"with {_kind(value)} for {key}")
    return value


def _number(table: dict[str, Any], key: str) -> int | None:
    value = table.get(key)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST:
        raise Misshapen(f"with {_kind(value)} for {key}")
    return value


def _names(table: dict[str, Any], key: str) -> tuple[str, ...] | None:
    value = table.get(key)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise Misshapen(f"with {_kind(value)} for {key}")
    return tuple(map(_plain, value))


def _plain(text: str) -> str:
    """A name as it can be shown: what is not printable could be an order for the terminal."""
    return "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in text)


def _kind(value: object) -> str:
    kinds = ((bool, "true or false"), (int | float, "a number"), (str, "text"), (list, "a list"), (dict, "a table"))
    return next((word for kind, word in kinds if isinstance(value, kind)), "nothing")
