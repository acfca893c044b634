"""Layers: built-in, defaults, groups in order, host, service; mappings merge, the rest is replaced, null removes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleets import ENGINES, accepted, compile_text, marked, refusal, refusals
from quadgen.fleet.layers import MERGED, Chain, Layer, lay, settle
from quadgen.resolution import Resolution


def laid(*layers: dict[str, Any]) -> dict[str, Any]:
    """What layers come to, lowest first."""
    merged: dict[str, Any] = {}
    for layer in layers:
        merged = lay(merged, layer)
    return settle(merged)


def chain(*layers: dict[str, Any]) -> Chain:
    named = tuple(Layer((f"layer-{index}",), layer) for index, layer in enumerate(layers))
    return Chain(named, laid(*layers))


@pytest.mark.parametrize("key", [key for key in MERGED if key != "unit"])
@pytest.mark.parametrize(
    ("layers", "settled"),
    [
        ([{"a": 1}, {"b": 2}], {"a": 1, "b": 2}),
        ([{"a": 1}, {"a": 2}], {"a": 2}),
        ([{"a": 1, "b": 2}, {"a": None}], {"b": 2}),
        ([{"a": 1}, {"a": None}, {"a": 3}], {"a": 3}),
        ([{"a": 1}, {"a": None}, {}], {}),
        ([{"a": 1}, None], None),
        ([{"a": 1}, None, {"b": 2}], {"b": 2}),
        ([None, {"a": 1}], {"a": 1}),
        ([{"a": [1, 2]}, {"a": [3]}], {"a": [3]}),
        ([{"a": {"x": 1}}, {"a": {"y": 2}}], {"a": {"y": 2}}),
    ],
)
def test_mappings_merge_key_by_key_and_null_removes(key: str, layers: list[Any], settled: Any) -> None:
    assert laid(*({key: layer} for layer in layers)).get(key) == settled


@pytest.mark.parametrize(
    ("layers", "settled"),
    [
        ([{"Service": {"Nice": 1}}, {"Service": {"UMask": 2}}], {"Service": {"Nice": 1, "UMask": 2}}),
        ([{"Service": {"Nice": 1}}, {"Unit": {"After": 2}}], {"Service": {"Nice": 1}, "Unit": {"After": 2}}),
        # a null key stays: it takes out a line that quadgen itself would write
        ([{"Service": {"Nice": 1}}, {"Service": {"Nice": None}}], {"Service": {"Nice": None}}),
        ([{"Service": {"Nice": 1}}, {"Service": None}], {"Service": None}),
        ([{"Service": {"Nice": 1}}, {"Service": None}, {"Service": {"UMask": 2}}], {"Service": {"UMask": 2}}),
        ([{"Service": {"Nice": 1}}, None], None),
    ],
)
def test_a_unit_merges_its_sections_and_their_keys(layers: list[Any], settled: Any) -> None:
    assert laid(*({"unit": layer} for layer in layers)).get("unit") == settled


@pytest.mark.parametrize(
    "key", ["slots", "network", "extra_args", "secrets", "restart", "cache_type", "health", "limits"]
)
def test_every_other_value_is_replaced_as_a_whole(key: str) -> None:
    below: Any = {"a": 1}
    above: Any = {"b": 2}
    assert laid({key: below}, {key: above})[key] == {"b": 2}
    assert laid({key: below}, {key: [1]}, {})[key] == [1]
    assert key not in laid({key: below}, {key: None})
    assert laid({key: below}, {key: None}, {key: 0})[key] == 0


NUMBERS = st.none() | st.integers(0, 2)
MAPPINGS = st.none() | st.dictionaries(st.sampled_from("ab"), NUMBERS)
LAYERS = st.lists(
    st.fixed_dictionaries({}, optional={"env": MAPPINGS, "flags": MAPPINGS, "slots": NUMBERS}), max_size=4
)


@given(layers=LAYERS)
def test_no_layer_is_changed_by_laying_another_over_it(layers: list[dict[str, Any]]) -> None:
    before = repr(layers)
    laid(*layers)
    assert repr(layers) == before


@given(layers=LAYERS)
def test_what_is_said_comes_from_the_highest_layer_that_says_it(layers: list[dict[str, Any]]) -> None:
    whole = chain({}, *layers)
    for key, value in whole.fields.items():
        assert whole.said(key)
        (name,) = whole.origin(key)[:-1]
        origin = whole.layers[int(str(name).rpartition("-")[2])].fields
        assert origin[key] is not None
        if key == "slots" or not isinstance(value, dict):
            assert origin[key] == value
        for inner in value if isinstance(value, dict) else ():
            (name, *_) = whole.origin(key, inner)
            assert whole.layers[int(str(name).rpartition("-")[2])].fields[key][inner] == value[inner]


def fleet(*, defaults: str = "", first: str = "", second: str = "", host: str = "", service: str = "") -> str:
    return (
        f"{ENGINES}defaults: {{model: plain, backend: cpu, engine: cpu, context: 4096, {defaults}}}\n"
        f"groups: {{first: {{{first}}}, second: {{{second}}}}}\n"
        f"hosts: {{claw: {{groups: [first, second], {host}}}, nook: {{services: {{s: {{{service}}}}}}}}}\n"
    )


def services(text: str) -> dict[str, Resolution]:
    return {host: found[0] for host, found in accepted(text).resolved.hosts.items()}


def words(resolution: Resolution, flag: str) -> str:
    (found,) = (argument.words[1] for argument in resolution.arguments if argument.words[0] == flag)
    return str(found)


def test_a_host_s_groups_count_in_the_order_in_which_it_lists_them() -> None:
    said = {"defaults": "slots: 1", "first": "slots: 2", "second": "slots: 3"}
    assert words(services(fleet(**said))["claw"], "--parallel") == "3"
    swapped = fleet(**said).replace("[first, second]", "[second, first]")
    assert words(services(swapped)["claw"], "--parallel") == "2"
    assert words(services(swapped)["nook"], "--parallel") == "1"


def test_a_service_says_it_last_and_its_neighbours_keep_the_host_s() -> None:
    text = fleet(defaults="flags: {top-k: 1, top-p: 0.5}", service="flags: {top-k: 2, top-p: null}")
    found = services(text)
    assert [words(found["claw"], flag) for flag in ("--top-k", "--top-p")] == ["1", "0.5"]
    assert words(found["nook"], "--top-k") == "2"
    assert "--top-p" not in [argument.words[0] for argument in found["nook"].arguments]


def test_a_null_gives_back_what_is_built_in() -> None:
    found = services(fleet(defaults="port: 9000, bind: '::1'", host="port: null, bind: null"))
    assert (found["claw"].port, found["claw"].binds) == (8080, "127.0.0.1")
    assert (found["nook"].port, found["nook"].binds) == (9000, "::1")


@pytest.mark.parametrize(
    ("host", "message"), [("model: null", "neither `model` nor"), ("backend: null, engine: null", "which backend")]
)
def test_a_null_can_also_take_out_what_is_needed(host: str, message: str) -> None:
    assert message in refusal(fleet(host=host)).message


def test_a_null_of_a_unit_s_key_takes_out_what_a_lower_layer_and_quadgen_say() -> None:
    text = fleet(defaults="unit: {Service: {Nice: 5}}", host="unit: {Service: {Nice: null, SuccessExitStatus: null}}")
    claw, nook = (tree.files[0].data.decode() for tree in accepted(text).trees)
    assert ("Nice=5" in claw, "SuccessExitStatus=" in claw) == (False, False)
    assert ("Nice=5" in nook, "SuccessExitStatus=" in nook) == (True, True)


def test_two_spellings_of_a_flag_in_two_layers_are_told_of_instead_of_guessing() -> None:
    text = fleet(defaults="flags: {temp: 0.5}", host="flags: {temperature: 0.7}")
    found = refusal(text)
    assert (found.code, marked(found)) == ("duplicate-flag", "temperature")


def test_a_backend_of_a_service_chooses_the_engine_again_unless_a_layer_names_one() -> None:
    fields = "model: plain, backend: vulkan, context: 1, services: {a: , b: {backend: rocm}}"
    one = f"{ENGINES}hosts: {{h: {{{fields}}}}}\n"
    (found,) = accepted(one.replace("b: {", "b: {port: 1, ")).resolved.hosts.values()
    assert [(each.backend, each.engine.name) for each in found] == [("vulkan", "vulkan"), ("rocm", "rocm")]
    named = one.replace("backend: vulkan, context", "backend: vulkan, engine: vulkan, context")
    assert "the engine vulkan has no rocm" in refusal(named.replace("b: {", "b: {port: 1, ")).message


def test_a_service_or_a_host_without_fields_has_those_of_the_layers_below() -> None:
    assert services(fleet(service="").replace("s: {}", "s: "))["nook"].model.name == "plain"
    assert services(fleet().replace("nook: {services: {s: {}}}", "nook: "))["nook"].name == "llama-server"


@pytest.mark.parametrize("layer", ["defaults", "groups"])
@pytest.mark.parametrize("key", ["address: x", "groups: [first]", "services: {a: }"])
def test_what_is_a_host_s_own_stands_in_no_layer_below(layer: str, key: str) -> None:
    (found,) = refusals(fleet(**{"defaults" if layer == "defaults" else "first": key}))
    assert found.code == "unknown-key"
    assert "all of its services" not in (found.hint or "")


@pytest.mark.parametrize(
    "key", ["runtime: systemd", "gpus: []", "rootless: ada", "selinux: relabel", "podman: '5.8.2'"]
)
def test_what_is_a_host_s_stands_in_no_service(key: str) -> None:
    found = refusal(fleet(service=key))
    assert (found.code, found.host, found.service) == ("unknown-key", "nook", "s")
    assert "belongs to the host" in (found.hint or "")


def test_a_mistake_in_a_layer_is_told_once_and_nothing_is_told_because_of_it() -> None:
    found = refusal(fleet(first="port: 99999, unit: {Service: {Nice: 5}}"))
    assert (found.code, marked(found)) == ("unexpected-value", "99999")
    assert compile_text(fleet(defaults="slots: many")).refused
