"""What pydantic finds, in the words of a YAML author: one problem a mistake, at a path that exists."""

import re
from enum import StrEnum
from typing import Annotated, Any, Literal, get_args

import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    with_config,
)
from pydantic_core import PydanticCustomError
from pydantic_core.core_schema import ErrorType
from typing_extensions import TypedDict

from quadgen.problems import Path, Problem
from quadgen.validation import named, problems_of

STRICT = ConfigDict(strict=True, extra="forbid")
PYDANTIC = re.compile(r"Input|Field required|Extra inputs|not permitted|dictionary|instance|valid (string|list|number)")


class Colour(StrEnum):
    RED = "red"


@with_config(STRICT)
class Probe(TypedDict, total=False):
    interval: int
    timeout: int


class Restart(BaseModel):
    model_config = STRICT
    policy: Literal["always", "no"]


def a_port(value: object) -> object:
    if not isinstance(value, int):
        raise PydanticCustomError("does-not-fit", "{message}", {"message": "takes a port", "hint": "write 8080"})
    return value


def is_even(value: int) -> int:
    if value % 2:
        raise ValueError(f"{value} is odd")
    return value


def a_key(value: str) -> str:
    if value.startswith("-"):
        raise PydanticCustomError("unsafe-value", f"{value!r} cannot be a key", {"hint": None})
    return value


class Service(BaseModel):
    model_config = STRICT
    name: str = "x"
    slots: int = 1
    gain: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    share: Annotated[float, Field(strict=False)] = 1.0
    open: bool = False
    tags: Annotated[list[str], Field(min_length=1, max_length=2)] = []
    colour: Annotated[Colour, Field(strict=False)] = Colour.RED
    backend: Literal["cuda", "vulkan"] = "cuda"
    version: Literal[1] = 1
    short: Annotated[str, Field(min_length=1, max_length=3, pattern="^[a-z]+$")] = "a"
    network: str | list[str] | None = None
    devices: list[Literal["all"] | int] = []
    health: Literal[False] | Probe = False
    restart: Literal["on"] | Restart = "on"
    either: Probe | Restart = {}
    labels: dict[Annotated[str, AfterValidator(a_key)], str] = {}
    port: Annotated[int, BeforeValidator(a_port)] = 1
    even: Annotated[int, AfterValidator(is_even)] = 2
    nothing: None = None


class Fleet(BaseModel):
    model_config = STRICT
    hosts: dict[str, Service]


def known(path: Path) -> tuple[str, ...]:
    return tuple(Fleet.model_fields if not path else Service.model_fields)


def found(data: Any, **options: Any) -> list[Problem]:
    with pytest.raises(ValidationError) as raised:
        Fleet.model_validate(data)
    synonyms = {"parallel": "slots", "gpu": "give the cards to the host", "x": "nowhere"}
    return problems_of(raised.value, data=data, known=known, synonyms=synonyms, **options)


def service(**fields: Any) -> list[tuple[str, str]]:
    """Each problem of a service as its path below the service and its sentence."""
    problems = found({"hosts": {"claw": fields}})
    assert all(problem.path and problem.path[:2] == ("hosts", "claw") for problem in problems)
    return [(".".join(map(str, (problem.path or ())[2:])), problem.message) for problem in problems]


class Written(float):
    text = "5.40"


@pytest.mark.parametrize(
    ("fields", "path", "message"),
    [
        ({"name": 5}, "name", "`name` takes text, not the number 5"),
        ({"name": Written(5.4)}, "name", "`name` takes text, not the number 5.40"),
        ({"name": None}, "name", "`name` takes text, not nothing"),
        ({"name": {}}, "name", "`name` takes text, not a mapping"),
        ({"slots": "many"}, "slots", "`slots` takes a whole number, not text"),
        ({"slots": 1.5}, "slots", "`slots` takes a whole number, not the number 1.5"),
        ({"slots": True}, "slots", "`slots` takes a whole number, not `true`"),
        ({"gain": "x"}, "gain", "`gain` takes a number, not text"),
        ({"gain": -1}, "gain", "`gain` takes a number above 0, not the number -1"),
        ({"gain": float("inf")}, "gain", "`gain` takes a finite number, not the number inf"),
        ({"share": "half"}, "share", "`share` takes a number, not text"),
        ({"open": "yes"}, "open", "`open` takes true or false, not text"),
        ({"tags": []}, "tags", "`tags` takes a list of at least 1 item(s), not one of 0"),
        ({"tags": ["a"] * 3}, "tags", "`tags` takes a list of at most 2 items, not one of 3"),
        ({"tags": ["a", 2]}, "tags.1", "item 2 of `tags` takes text, not the number 2"),
        ({"tags": {"a": 1}}, "tags", "`tags` takes a list, not a mapping"),
        ({"colour": "rad"}, "colour", "`colour` takes `red`, not `rad`"),
        ({"backend": "rocm"}, "backend", "`backend` takes `cuda` or `vulkan`, not `rocm`"),
        ({"backend": "x" * 50}, "backend", "`backend` takes `cuda` or `vulkan`, not that text"),
        ({"version": 2}, "version", "`version` takes `1`, not the number 2"),
        ({"short": ""}, "short", "`short` must not be empty"),
        ({"short": "long"}, "short", "`short` takes at most 3 characters, not `long`"),
        ({"short": "A"}, "short", "`short` takes text of the form ^[a-z]+$, not `A`"),
        ({"labels": 5}, "labels", "`labels` takes a mapping, not the number 5"),
        ({"labels": {"-a": "b"}}, "labels.-a", "'-a' cannot be a key"),
        ({"port": "http"}, "port", "`port` takes a port"),
        ({"even": 3}, "even", "3 is odd"),
        ({"nothing": 1}, "nothing", "`nothing` takes nothing, not the number 1"),
    ],
    ids=str,
)
def test_a_value_that_does_not_fit_is_told_in_one_sentence(fields: dict[str, Any], path: str, message: str) -> None:
    assert service(**fields) == [(path, message)]


@pytest.mark.parametrize(
    ("fields", "path", "message"),
    [
        ({"network": 5}, "network", "`network` takes text or a list, not the number 5"),
        ({"network": ["a", 5]}, "network.1", "item 2 of `network` takes text, not the number 5"),
        ({"devices": ["al"]}, "devices.0", "item 1 of `devices` takes `all` or a whole number, not `al`"),
        ({"health": True}, "health", "`health` takes `false` or a mapping, not `true`"),
        ({"health": {"intervall": 1}}, "health.intervall", "`intervall` is not a key of `health`"),
        ({"health": {"interval": "x"}}, "health.interval", "`interval` takes a whole number, not text"),
        ({"restart": "off"}, "restart", "`restart` takes `on` or a mapping, not `off`"),
        ({"restart": {}}, "restart", "`restart` has no `policy`"),
        ({"restart": {"policy": "on"}}, "restart.policy", "`policy` takes `always` or `no`, not `on`"),
        ({"either": {"interval": "x"}}, "either.interval", "`interval` takes a whole number, not text"),
    ],
    ids=str,
)
def test_of_a_union_one_sentence_is_left_at_a_path_of_the_document(
    fields: dict[str, Any], path: str, message: str
) -> None:
    assert service(**fields) == [(path, message)]


@pytest.mark.parametrize(
    ("fields", "code", "at", "hint"),
    [
        ({"nmae": 1}, "unknown-key", "key", "did you mean `name`?"),
        ({"parallel": 1}, "unknown-key", "key", "it is called `slots` here"),
        ({"gpu": 1}, "unknown-key", "key", "give the cards to the host"),
        ({"zzzzz": 1}, "unknown-key", "key", None),
        ({"restart": {}}, "missing-key", "value", None),
        ({"labels": {"-a": "b"}}, "unsafe-value", "key", None),
        ({"port": "http"}, "does-not-fit", "value", "write 8080"),
        ({"backend": "vulcan"}, "unexpected-value", "value", "did you mean `vulkan`?"),
        ({"slots": "4"}, "unexpected-value", "value", "write 4 without quotes"),
        ({"name": Written(5.4)}, "unexpected-value", "value", 'write it in quotes: "5.40"'),
        ({"name": True}, "unexpected-value", "value", 'write it in quotes: "true"'),
        ({"tags": "a"}, "unexpected-value", "value", "write it as a list: [a]"),
        (
            {"open": "on"},
            "unexpected-value",
            "value",
            "only true and false are read as such; yes, no, on and off are text",
        ),
    ],
    ids=str,
)
def test_a_problem_has_its_code_its_place_and_its_way_out(
    fields: dict[str, Any], code: str, at: str, hint: str | None
) -> None:
    (problem,) = found({"hosts": {"claw": fields}})
    assert (problem.code, problem.at, problem.hint) == (code, at, hint)


def test_few_keys_are_listed_where_none_is_near() -> None:
    (problem,) = found({"hosts": {}, "x": 1})
    assert (problem.message, problem.hint) == ("`x` is not a key of this file", "the keys here are hosts")


def test_a_missing_key_is_told_at_the_mapping_that_lacks_it() -> None:
    (problem,) = found({})
    assert (problem.code, problem.path, problem.message) == ("missing-key", (), "this file has no `hosts`")


def test_the_file_and_the_place_of_the_data_in_it_are_put_in_front() -> None:
    (problem,) = found({"hosts": {"claw": {"slots": "x"}}}, file="a.yml", under=("rows", 2))
    assert (problem.file, problem.path) == ("a.yml", ("rows", 2, "hosts", "claw", "slots"))
    (problem,) = found([], file="a.yml", under=("rows", 2))
    assert problem.message == "item 3 of `rows` takes a mapping, not a list"


def test_every_mistake_of_a_document_is_a_problem_of_its_own() -> None:
    problems = found({"hosts": {"a": {"slots": "x", "zz": 1}, "b": 5, "c": {"network": 1, "health": True}}})
    assert len({problem.path for problem in problems}) == len(problems) == 5


CONTEXT: dict[str, Any] = {
    "error": "boom", "gt": 1, "ge": 1, "lt": 1, "le": 1, "multiple_of": 2, "min_length": 2, "max_length": 3,
    "actual_length": 1, "field_type": "List", "pattern": "^a$", "expected": "'a' or 'b'", "class_name": "X",
    "class": "X", "discriminator": "'kind'", "tag": "t", "expected_tags": "'a'", "expected_schemes": "http",
    "method_name": "m", "attribute": "a", "max_digits": 1, "decimal_places": 2, "whole_digits": 3,
    "encoding": "utf8", "encoding_error": "e", "expected_version": 4, "tz_expected": 0, "tz_actual": 1,
}  # fmt: skip


@pytest.mark.parametrize("kind", get_args(ErrorType))
def test_no_error_that_pydantic_knows_reaches_the_user_in_its_words(kind: str) -> None:
    details: Any = [{"type": kind, "loc": ("a",), "input": 5, "ctx": CONTEXT}]
    error = ValidationError.from_exception_data("test", details)
    (problem,) = problems_of(error, data={"a": 5}, known=lambda _: (), synonyms={})
    assert not PYDANTIC.search(problem.message)
    assert "`a`" in problem.message or problem.message == "boom"
    assert problem.code in {"unknown-key", "missing-key", "unexpected-value"}


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ((), "this file"),
        (("a", "b"), "`b`"),
        (("a", 0), "item 1 of `a`"),
        ((1, 0), "item 1 of item 2 of this file"),
    ],
)
def test_a_value_is_named_by_its_key_or_its_position(path: Path, name: str) -> None:
    assert named(path) == name
