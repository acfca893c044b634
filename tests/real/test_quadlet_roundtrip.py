"""What arrives is what was meant: arbitrary words through both real generators and systemd's rules.

The encoders write units, Podman's own generators turn them into services, and `systemd_words`, which
shares nothing with the code under test, says which argument vector systemd would give to podman.
"""

import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostile import batches, in_batches, names, paths, texts
from parts import Quadlet, each_quadlet, generators
from quadgen import unitfile
from quadgen.unitfile import Unsafe
from systemd_words import NotLoaded, assignments, command, specified, words_of

IMAGE = "localhost/image:tag"
TAKES_A_VALUE = frozenset({
    "--name", "--env", "--label", "--annotation", "-v", "--publish", "--device", "--health-cmd", "--hostname",
    "--sysctl", "--pull", "--shm-size", "--tz",
})  # fmt: skip
NAMED = (("Environment", "--env"), ("Label", "--label"), ("Annotation", "--annotation"))
SINGLE = (
    ("AddDevice", "--device", unitfile.strv),
    ("Sysctl", "--sysctl", unitfile.strv),
    ("ShmSize", "--shm-size", unitfile.last),
    ("Pull", "--pull", unitfile.last),
    ("PublishPort", "--publish", unitfile.raw),
)


@dataclass(kw_only=True)
class Meant:
    """A unit in the making: the lines that were written, and what podman and systemd must get for them."""

    container: list[str] = field(default_factory=list)
    service: list[str] = field(default_factory=list)
    options: list[tuple[str, str]] = field(default_factory=list)
    podman: list[str] = field(default_factory=list)
    argv: list[str] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)
    identifier: str | None = None
    refused: list[str] = field(default_factory=list)

    def write(self, key: str, encode: Callable[[], str], *, service: bool = False) -> bool:
        """Write the line, or note why its value was refused."""
        try:
            text = encode()
        except Unsafe as refusal:
            self.refused.append(refusal.reason)
            return False
        (self.service if service else self.container).append(f"{key}={text}")
        return True

    def text(self) -> str:
        """The whole unit; the lines before and after the hostile ones must arrive too."""
        head = ["[Container]", f"Image={IMAGE}", "HostName=first", *self.container, "Timezone=last"]
        return "\n".join([*head, "[Service]", "Nice=1", *self.service, "Restart=always", ""])


def accepted(words: list[str]) -> list[str]:
    """The words that can be arguments; that all others must be refused is tested with the encoders."""
    kept = []
    for word in words:
        with contextlib.suppress(Unsafe):
            unitfile.arg(word)
            kept.append(word)
    return kept


@st.composite
def units(draw: st.DrawFn) -> Meant:
    """A unit with hostile values in a key of every kind."""
    meant = Meant()
    argv = accepted(draw(st.lists(texts, max_size=6)))
    if meant.write("Exec", lambda: unitfile.exec_words(argv)):
        meant.argv = argv
    for word in accepted(draw(st.lists(texts, max_size=2))):
        meant.write("PodmanArgs", partial(unitfile.arg, word))
        meant.podman.append(word)
    draw_options(draw, meant)
    variable = draw(texts)
    if meant.write("Environment", partial(unitfile.service_environment, "X", variable), service=True):
        meant.variables.append(f"X={variable}")
    identifier = draw(texts)
    if meant.write("SyslogIdentifier", partial(unitfile.line, identifier), service=True):
        meant.identifier = identifier
    return meant


def draw_options(draw: st.DrawFn, meant: Meant) -> None:
    """Add hostile values to the keys that become an option of `podman run` with a value."""
    for key, option in NAMED:
        for name, value in draw(st.dictionaries(names, texts, max_size=2)).items():
            if meant.write(key, partial(unitfile.key_value, name, value)):
                meant.options.append((option, f"{name}={value}"))
    for source, target in draw(st.lists(st.tuples(paths, paths), max_size=2)):
        volume = f"{source}:{target}:ro"
        if meant.write("Volume", partial(unitfile.raw, volume)):
            meant.options.append(("-v", volume))
    for key, option, encode in SINGLE:
        value = draw(texts)
        if meant.write(key, partial(encode, value)):
            meant.options.append((option, value))
    health = draw(st.lists(texts, max_size=3))
    if meant.write("HealthCmd", partial(unitfile.json_words, tuple(health))):
        meant.options.append(("--health-cmd", json.dumps(health, separators=(",", ":"))))


def options_and_rest(argv: list[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """The options of `podman run` that take a value, and all from the first word on that is no option."""
    options = []
    position = 2
    while position < len(argv) and argv[position].startswith("-"):
        if argv[position] in TAKES_A_VALUE:
            options.append((argv[position], argv[position + 1]))
            position += 1
        position += 1
    return options, argv[position:]


def check(meant: Meant, service: str) -> None:
    [line] = assignments(service, "ExecStart")
    argv = command(line)
    tail = [*meant.podman, IMAGE, *meant.argv]
    assert argv[len(argv) - len(tail) :] == tail
    options, rest = options_and_rest(argv[: len(argv) - len(tail)])
    assert rest == []
    expected = [("--name", "systemd-<%N>"), ("--hostname", "first"), ("--tz", "last"), *meant.options]
    assert sorted(options) == sorted(expected)
    assert (assignments(service, "Nice"), assignments(service, "Restart")) == (["1"], ["always"])
    variables = [
        specified(word.encode()).decode() for value in assignments(service, "Environment") for word in words_of(value)
    ]
    assert variables == [*meant.variables, "PODMAN_SYSTEMD_UNIT=<%n>"]
    [identifier] = assignments(service, "SyslogIdentifier")
    assert specified(identifier.encode()).decode() == ("<%N>" if meant.identifier is None else meant.identifier)


@in_batches
@given(batch=batches(units()))
def test_what_was_meant_reaches_podman_or_was_refused(batch: list[Meant], tmp_path: Path) -> None:
    for quadlet in generators():
        run = quadlet.generate(tmp_path, {f"u{index}": meant.text() for index, meant in enumerate(batch)})
        assert (run.status, run.messages) == (0, [])
        assert len(run.services) == len(batch)
        for index, meant in enumerate(batch):
            check(meant, run.services[f"u{index}.service"])


@each_quadlet
def test_a_unit_that_the_generator_drops_is_seen(quadlet: Quadlet, tmp_path: Path) -> None:
    good = f"[Container]\nImage={IMAGE}\n"
    run = quadlet.generate(tmp_path, {"good": good, "bad": f"{good}Imagge=x\n"})
    assert list(run.services) == ["good.service"]
    assert run.status == 1
    assert any("Imagge" in message for message in run.messages)


@each_quadlet
@pytest.mark.parametrize("line", ['Exec=--a "" --b', r"Exec=--a \d --b", "Exec=--a %h --b", "Exec=--a $X --b"])
def test_a_unit_that_loses_or_changes_an_argument_in_silence_is_seen(
    quadlet: Quadlet, line: str, tmp_path: Path
) -> None:
    argv = [word.strip('"') for word in line.removeprefix("Exec=").split()]
    meant = Meant(container=[line], argv=argv)
    run = quadlet.generate(tmp_path, {"u": meant.text()})
    assert run.status == 0
    with pytest.raises(AssertionError):
        check(meant, run.services["u.service"])


LOST: dict[str, tuple[Callable[[str], str], str, str]] = {
    # what breaks: the encoder, the value, and the line that would be written for it
    "a second command": (unitfile.arg, ";", 'PodmanArgs=";"'),
    "a broken byte": (unitfile.arg, "\x80", 'PodmanArgs="\x80"'),
    "a noncharacter": (unitfile.arg, "\ufffe", 'PodmanArgs="\ufffe"'),
    "a blank in front": (unitfile.raw, " a", "PublishPort= a"),
    "a blank at the end": (unitfile.raw, "a\N{NO-BREAK SPACE}", "PublishPort=a\N{NO-BREAK SPACE}"),
    "a line break": (unitfile.raw, "a\nb", "PublishPort=a\n#b"),
    "the next line swallowed": (unitfile.raw, "a\\", "PublishPort=a\\"),
    "two items": (unitfile.strv, "a b", "Sysctl=a b"),
    "a device that is not here": (unitfile.strv, "-/dev/none:/dev/none", "AddDevice=-/dev/none:/dev/none"),
    "an open quote": (unitfile.strv, "it's", "Sysctl=it's"),
    "quotes stripped": (unitfile.last, '"a"', 'ShmSize="a"'),
    "nothing": (unitfile.last, "", "ShmSize="),
}


@each_quadlet
@pytest.mark.parametrize("loss", LOST)
def test_what_an_encoder_refuses_would_not_arrive(quadlet: Quadlet, loss: str, tmp_path: Path) -> None:
    encode, value, line = LOST[loss]
    with pytest.raises(Unsafe):
        encode(value)
    meant = Meant(container=[line])
    option = {key: option for key, option, _ in SINGLE}.get(line.partition("=")[0])
    if option:
        meant.options.append((option, value))
    else:
        meant.podman.append(value)
    run = quadlet.generate(tmp_path, {"u": meant.text()})
    with pytest.raises((AssertionError, NotLoaded)):
        check(meant, run.services["u.service"])
