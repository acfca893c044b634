"""Key or argument: the real generators make one command line of both, and drop a unit for a key that is too new."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everything import everything
from fleets import CPU, accepted, compile_text, flow, one, started, units, values
from hostile import SNIPPETS, in_batches, texts
from parts import OLDEST, Quadlet, generators
from quadgen.quadlet_keys import argument, lacking, reader
from quadgen.unitfile import UnitText, Unsafe, arg, last, raw, strv

OLD, NEW = generators()
IMAGE = "localhost/x"
SWITCHES = {"--replace", "--rm", "-d", "--init", "--http-proxy", "--read-only", "--read-only-tmpfs", "--env-host"}
"""What podman-run(1) takes without a value among what Quadlet writes."""
MOVED = {"--cidfile", "--cgroups", "--sdnotify", "--log-driver"}
"""What Quadlet says by itself, in one version or the other, where a key would have said it."""


def options(words: list[str]) -> Counter[str]:
    """The arguments of podman-run(1), each as --name=value, whatever their order and spelling."""
    rest = iter(words[words.index("run") + 1 :])
    found: Counter[str] = Counter()
    for word in rest:
        if "=" in word and word.startswith("--"):
            found[word] += 1
        elif word in SWITCHES:
            found[f"{word}=true"] += 1
        else:
            found[f"{'--volume' if word == '-v' else word}={next(rest)}"] += 1
    return found


def beside(found: Counter[str]) -> Counter[str]:
    """The arguments that are not Quadlet's own."""
    return Counter({word: count for word, count in found.items() if word.partition("=")[0] not in MOVED})


def made(
    quadlet: Quadlet, directory: Path, texts_by_name: dict[str, str], image: str = IMAGE
) -> dict[str, Counter[str]]:
    """What each unit starts; every one must be generated without a word."""
    directory.mkdir(exist_ok=True)
    run = quadlet.generate(directory, texts_by_name)
    assert (run.status, run.messages) == (0, []), run
    assert len(run.services) == len(texts_by_name)
    return {name.removesuffix(".service"): options(started(text, image).podman) for name, text in run.services.items()}


def rendered(podman: str) -> dict[str, str]:
    """The containers of the whole fleet without what only Quadlet units of others stand for, by a flat name."""
    found = units(accepted(everything(podman)))
    return {
        path.partition("/")[0]: text.replace("Volume=x.volume:", "Volume=x:").replace("own.network", "own")
        for path, text in found.items()
        if path.endswith(".container")
    }


def commands(quadlet: Quadlet, directory: Path, podman: str) -> dict[str, tuple[Counter[str], list[str]]]:
    """Podman's and the server's arguments of each unit of the fleet for `podman`, by a real generator."""
    texts_by_name = rendered(podman)
    directory.mkdir(exist_ok=True)
    run = quadlet.generate(directory, texts_by_name)
    assert (run.status, run.messages) == (0, []), run.messages
    found = {}
    for name, text in run.services.items():
        stem = name.removesuffix(".service")
        (image,) = values(texts_by_name[stem], "Container", "Image")
        start = started(text, image)
        found[stem] = beside(options(start.podman)), start.server
    assert found.keys() == texts_by_name.keys()
    return found


def test_both_generators_start_the_same_for_the_older_and_for_the_newer_podman(tmp_path: Path) -> None:
    by_arguments = commands(OLD, tmp_path / "old", "5.4.2")
    assert commands(NEW, tmp_path / "new", "5.4.2") == by_arguments
    assert commands(NEW, tmp_path / "keys", "5.8.6") == by_arguments
    assert all("--memory=8589934592" in podman for podman, _ in by_arguments.values())


def test_the_older_generator_drops_every_unit_that_is_for_the_newer_podman(tmp_path: Path) -> None:
    run = OLD.generate(tmp_path, rendered("5.8.6"))
    assert run.services == {}
    assert run.status != 0


TOO_NEW = sorted(lacking("4.4.0") - {"Notify"} | {"AutoUpdate"})
FALLBACKS = [key for key in TOO_NEW if argument(key, "true", OLDEST) is not None]
WITH = {"SubGIDMap": "SubUIDMap", "SubUIDMap": "SubGIDMap"}
"""What Quadlet wants of two keys at once."""
ENCODERS: dict[str, Callable[[str], UnitText]] = {"raw": raw, "last": last, "strv": strv, "args_all": arg}


def lines(key: str, value: str, podman: str) -> tuple[str, str] | None:
    """A unit that says a key, and one that says its argument; None where no unit can carry the value."""
    kind = reader(key)
    try:
        text = UnitText(value) if kind == "bool" else ENCODERS[str(kind)](value)
        words = [argument(each, value, podman) for each in (key, *([WITH[key]] if key in WITH else []))]
        arguments = [arg(word) for word in words if word]
    except Unsafe:
        return None
    head = f"[Container]\nImage={IMAGE}\n"
    more = f"{WITH[key]}={text}\n" if key in WITH else ""
    return f"{head}{key}={text}\n{more}Exec=a\n", head + "".join(
        f"PodmanArgs={word}\n" for word in arguments
    ) + "Exec=a\n"


PLAIN = {"bool": ("true", "false")}


def agree(directory: Path, wanted: dict[str, tuple[str, str]]) -> None:
    """What the newer generator makes of keys, the older one makes of arguments."""
    plain = f"[Container]\nImage={IMAGE}\nExec=a\n"
    (bare_new,) = made(NEW, directory / "bare", {"u": plain}).values()
    (bare_old,) = made(OLD, directory / "bare", {"u": plain}).values()
    by_key = made(NEW, directory / "keys", {name: key for name, (key, _) in wanted.items()})
    by_argument = made(OLD, directory / "arguments", {name: words for name, (_, words) in wanted.items()})
    for name in wanted:
        assert by_key[name] - bare_new == by_argument[name] - bare_old, name


def test_each_key_and_its_argument_are_one_thing(tmp_path: Path) -> None:
    wanted: dict[str, tuple[str, str]] = {}
    for key in FALLBACKS:
        for value in PLAIN.get(str(reader(key)), ("a:b", "x=100%,$HOME")):
            if (found := lines(key, value, OLDEST)) is not None:
                wanted[f"{key}-{len(wanted)}"] = found
    assert {name.partition("-")[0] for name in wanted} == set(FALLBACKS)
    agree(tmp_path, wanted)


hostile = st.lists(st.tuples(st.sampled_from(FALLBACKS), texts), min_size=20, max_size=20)


@in_batches
@given(pairs=hostile)
def test_each_key_and_its_argument_are_one_thing_for_whatever_they_are_given(
    tmp_path: Path, pairs: list[tuple[str, str]]
) -> None:
    wanted: dict[str, tuple[str, str]] = {}
    for key, value in pairs:
        said = "true" if reader(key) == "bool" else value
        # Quadlet itself judges what a tmpfs has: not more than one colon
        if (found := lines(key, said, OLDEST)) is not None and not (key == "Tmpfs" and said.count(":") > 1):
            wanted[f"{key}-{len(wanted)}"] = found
    if wanted:
        agree(tmp_path, wanted)


def test_a_key_of_the_fleet_s_own_and_its_argument_are_one_thing(tmp_path: Path) -> None:
    by_podman: dict[str, dict[str, str]] = {"5.4.2": {}, "5.8.6": {}}
    for number, snippet in enumerate(SNIPPETS[::3]):
        key = ("AppArmor", "RetryDelay")[number % 2]
        for podman, found in by_podman.items():
            fields = f'{CPU}, podman: "{podman}", unit: {{Container: {{{key}: {flow(snippet)}}}}}}}'
            compiled = compile_text(one(fields))
            if not compiled.refused:
                (found[f"u{number}"],) = units(compiled).values()
    assert by_podman["5.4.2"].keys() == by_podman["5.8.6"].keys()
    assert len(by_podman["5.4.2"]) > len(SNIPPETS) / 9
    (image,) = values(by_podman["5.4.2"]["u0"], "Container", "Image")
    old = made(OLD, tmp_path / "old", by_podman["5.4.2"], image)
    new = made(NEW, tmp_path / "new", by_podman["5.8.6"], image)
    for name, started_by_key in new.items():
        assert beside(started_by_key) == beside(old[name]), by_podman["5.8.6"][name]


@pytest.mark.parametrize("key", sorted(lacking(OLDEST)))
def test_the_older_generator_drops_the_unit_for_each_key_that_it_lacks(key: str, tmp_path: Path) -> None:
    text = f"[Container]\nImage={IMAGE}\n{key}={'true' if reader(key) == 'bool' else 'x'}\n"
    assert OLD.generate(tmp_path, {"u": text}).services == {}
