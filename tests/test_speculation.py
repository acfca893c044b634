"""The built-in profiles: the reference's names and behaviour, with every number taken from shipped rows."""

import re
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields

import pytest

import quadgen.speculation
from quadgen.evidence import Setting, shipped_rows
from quadgen.speculation import (
    BUILTIN,
    COPY,
    DEFAULT,
    PROFILES,
    Profile,
    Unavailable,
    UnknownProfile,
    names,
    resolve,
)

BACKENDS = ("cuda", "rocm", "vulkan", "sycl", "cpu")


def test_a_profile_has_the_reference_s_fields_in_their_order_and_is_frozen() -> None:
    assert [field.name for field in fields(Profile)] == [
        "name",
        "spec_types",
        "draft_n_max",
        "backends",
        "summary",
        "elsewhere",
        "needs_mtp",
    ]
    made = Profile("x", ("ngram-mod",), None, frozenset({"cpu"}), "a summary")
    assert (made.elsewhere, made.needs_mtp) == ("", False)
    with pytest.raises(FrozenInstanceError):
        made.name = "y"  # type: ignore[misc] # that is the point


def test_the_table_lists_copy_then_default_then_none() -> None:
    assert list(PROFILES) == list(BUILTIN) == ["copy", "default", "none"]
    assert names() == "copy, default, none"
    assert (PROFILES["copy"], PROFILES["default"]) == (COPY, DEFAULT)


def test_copy_is_mtp_and_prompt_lookup_at_width_seven_and_wins_on_cuda_alone() -> None:
    assert (COPY.spec_types, COPY.draft_n_max, COPY.needs_mtp) == (("draft-mtp", "ngram-cache"), 7, True)
    assert COPY.backends == frozenset({"cuda"})
    assert [backend for backend in BACKENDS if COPY.allowed_on(backend)] == ["cuda"]


def test_the_floors_are_allowed_everywhere_and_explain_nothing() -> None:
    assert (DEFAULT.spec_types, DEFAULT.draft_n_max, DEFAULT.needs_mtp) == (("draft-mtp",), None, False)
    for floor in (DEFAULT, PROFILES["none"]):
        assert (floor.backends, floor.elsewhere) == (None, "")
        assert all(floor.allowed_on(backend) for backend in (*BACKENDS, "anything"))


def test_a_profile_that_is_refused_somewhere_says_why() -> None:
    for profile in PROFILES.values():
        assert (profile.backends is None) == (profile.elsewhere == "")
        assert profile.summary


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_name_and_the_floors_resolve_on_every_backend(backend: str) -> None:
    assert resolve(None, backend) is DEFAULT
    assert resolve("default", backend) is DEFAULT
    assert resolve("none", backend) is PROFILES["none"]


def test_copy_resolves_where_it_wins() -> None:
    assert resolve("copy", "cuda") is COPY


@pytest.mark.parametrize("backend", ["vulkan", "rocm", "sycl", "cpu"])
def test_copy_is_refused_elsewhere_with_the_three_facts_and_where_it_wins(backend: str) -> None:
    with pytest.raises(Unavailable) as refusal:
        resolve("copy", backend)
    text = str(refusal.value)
    assert f"wins on {backend}" in text.splitlines()[0]
    assert "adding ngram-cache to draft-mtp reads 0.84-0.90x against draft-mtp alone" in text
    assert "widening the draft of draft-mtp from 3 to 7 costs a further 22% on prose" in text
    assert "ngram-cache by itself is 0.65x on prose" in text
    assert "It wins on cuda: 94.0 -> 115.1 tok/s on copy, 1.22x [rtx3090-cuda-27b-copy-copy]" in text


def test_an_unknown_name_lists_those_that_exist_and_is_also_a_value_error() -> None:
    for kind in (UnknownProfile, Unavailable, ValueError):
        with pytest.raises(kind, match="no profile 'fast'; the profiles are copy, default, none"):
            resolve("fast", "cuda")


def test_every_id_that_a_refusal_names_is_a_row() -> None:
    ids = {row.id for row in shipped_rows()}
    for quoted in re.findall(r"\[(\S+?)\]", COPY.elsewhere):
        start, _, rest = quoted.partition("{")
        assert {start + end for end in rest.rstrip("}").split(",")} <= ids


def test_a_spec_gives_the_setting_that_is_measured() -> None:
    assert BUILTIN["copy"].setting() == Setting.of(["ngram-cache", "draft-mtp"], draft_n_max=7)
    assert BUILTIN["none"].setting() == Setting.of([])
    assert BUILTIN["default"].setting("head") == Setting.of(["draft-mtp"], draft_model="head")


def test_every_profile_that_is_no_floor_says_what_it_must_beat_and_on_what() -> None:
    for spec in BUILTIN.values():
        assert spec.floor == (spec.workload is None)
        assert BUILTIN[spec.against].floor


def test_importing_the_module_reads_no_file_and_loads_no_heavy_library() -> None:
    program = """
import sys
import quadgen.speculation
print(quadgen.speculation.names(), *sorted({"yaml", "pydantic", "jinja2"} & set(sys.modules)))
print(quadgen.speculation.shipped_rows.cache_info().currsize)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "copy, default, none\n0\n"


def test_another_name_is_no_part_of_the_module() -> None:
    name = "SPEED"
    with pytest.raises(AttributeError, match="has no attribute 'SPEED'"):
        getattr(quadgen.speculation, name)
