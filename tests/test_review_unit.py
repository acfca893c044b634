"""The text of a unit, taken apart as a reviewer thinks of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleets import accepted, one, units
from quadgen.pipeline import find
from quadgen.review.unit import options, read
from quadgen.units import build
from repositories import FLEET


def test_a_unit_that_was_rendered_is_read_as_it_was_decided() -> None:
    compiled = accepted(FLEET)
    texts = units(compiled)
    for tree in compiled.trees:
        for resolution in find(compiled, tree.host, None):
            unit = build(resolution)
            said = read(texts[f"{tree.host}/{unit.file}"].encode())
            assert said is not None
            assert said.words == tuple(map(str, unit.argv))
            assert said.program in {resolution.image, resolution.binary}
            assert said.environment == {name: (str(value),) for name, value in unit.environment}
            assert said.about == unit.notes[1]
            backed = [note for note in unit.notes if note.startswith(("evidence: ", "costs "))]
            assert said.evidence == tuple(note.removeprefix("evidence: ") for note in backed)


def test_mounts_and_other_keys_stand_apart() -> None:
    compiled = accepted(one("{model: plain, backend: cpu, engine: cpu, volumes: [/a:/b]}"))
    (text,) = units(compiled).values()
    said = read(text.encode())
    assert said is not None
    assert "/a:/b" in said.mounts
    assert said.keys["[Container] PublishPort"] == ("127.0.0.1:8080:8080",)
    assert not {"[Container] Exec", "[Container] Image", "[Container] Volume"} & said.keys.keys()


def test_options_have_the_words_behind_them_once_for_each_time() -> None:
    words = ["first", "--ctx-size", "4096", "--metrics", "--lora", "a", "--lora", "b", "-ngl", "-1", "--temp=-0.5", "-"]
    assert options(words) == {
        "": ("first",),
        "--ctx-size": ("4096",),
        "--metrics": ("",),
        "--lora": ("a", "b"),
        "-ngl": ("-1",),
        "--temp": ("-0.5 -",),
    }


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xfe",
        b"[Container",
        b"Image=x",
        b'[Container]\nImage=x\nExec=a "" b',
        b"[Service]\nExecStart=a %",
        b"[Container]\nnothing",
    ],
)
def test_what_is_no_unit_is_not_read(data: bytes) -> None:
    assert read(data) is None


@given(st.binary(max_size=60) | st.text(alphabet="[]=\\\n\"' %$aZContainerExec", max_size=60).map(str.encode))
def test_no_bytes_are_too_odd_to_be_looked_at(data: bytes) -> None:
    for head in (b"", b"[Container]\nExec=", b"[Service]\nEnvironment=", b"[Container]\nImage=x\nEnvironment="):
        read(head + data)
