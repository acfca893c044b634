"""quadgen reads a unit as the real generators do, or refuses it: the splitters and the reader, on text of any kind."""

import contextlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from hostile import batches, in_batches
from parts import DryRun, generators
from quadgen import unitfile
from quadgen.unitfile import Malformed
from systemd_words import assignments, words_of

IMAGE = "localhost/image:tag"

written_values = st.lists(
    st.sampled_from([*"ab \t\"'\\;=1x-é\N{NO-BREAK SPACE}", r"\\", r"\"", r"\x41", r"\n", " b", '""']),
    min_size=1,
    max_size=9,
).map("".join)


def pairs(value: str) -> list[str]:
    return [f"{name}={text}" for name, text in dict(unitfile.split_keyval(value)).items()]


READERS: dict[str, tuple[str, Callable[[str], Sequence[str]]]] = {
    "Exec": ("", unitfile.split_exec),
    "PodmanArgs": ("", unitfile.split_args),
    "Environment": ("--env", pairs),
    "Sysctl": ("--sysctl", unitfile.split_strv),
    "PublishPort": ("--publish", lambda value: [value]),
    "ShmSize": ("--shm-size", lambda value: [text] if (text := unitfile.lookup_last(value)) else []),
}
"""The option of a key, and how quadgen reads it."""


def arguments(run: DryRun, name: str) -> list[str]:
    """What podman is given, specifiers and variables as they are written."""
    [line] = assignments(run.services[f"{name}.service"], "ExecStart")
    return words_of(line)


def options(words: Sequence[str], option: str) -> list[str]:
    return [part for word in words for part in ((option, word) if option else (word,))]


@in_batches
@given(batch=batches(st.tuples(st.sampled_from(sorted(READERS)), written_values)))
def test_any_text_is_read_as_the_generator_reads_it_or_refused(batch: list[tuple[str, str]], tmp_path: Path) -> None:
    texts_by_name = {"plain": f"[Container]\nImage={IMAGE}\nTimezone=last\n"}
    expected: dict[str, list[str]] = {"plain": []}
    for index, (key, value) in enumerate(batch):
        text = f"[Container]\nImage={IMAGE}\n{key}={value}\nTimezone=last\n"
        option, split = READERS[key]
        with contextlib.suppress(Malformed):
            [written] = unitfile.gather(unitfile.read(text))["Container", key] or [""]
            words = split(written) if written else []
            expected[f"u{index}"] = options(words, option)
            texts_by_name[f"u{index}"] = text
    for quadlet in generators():
        run = quadlet.generate(tmp_path, texts_by_name)
        assert (run.status, run.messages) == (0, [])
        assert len(run.services) == len(expected)
        arrived = {name: arguments(run, name) for name in expected}
        for name, words in expected.items():
            assert Counter(arrived[name]) - Counter(arrived["plain"]) == Counter(words)
            if "\nExec=" in texts_by_name[name]:
                assert arrived[name][arrived[name].index(IMAGE) + 1 :] == words


file_lines = st.lists(
    st.sampled_from([
        "[Container]", "[Service]", "[Unit] ", "Exec=a b", "Exec=--x \\", "  y \\", "  z", "Exec=", "Exec =\\",
        "\\", "Exec=a\\\\", "Exec=a\\", "\tExec = q", 'Exec="a \\', 'b"', "Label=a=1", 'Label="b=2 3" \\',
        "Label=c=4", "Label=", "# comment", "; comment \\", "  # comment", "", " ", "#", "PublishPort= 1 2",
        "PublishPort=\N{NO-BREAK SPACE}1", "PublishPort=3\N{NO-BREAK SPACE}", "PublishPort=\\",
        "PublishPort=a  \\", "Label=é=\N{LINE SEPARATOR}",
    ]),
    max_size=8,
)  # fmt: skip


@in_batches
@given(batch=batches(st.tuples(file_lines, st.sampled_from(["\n", "\r\n"]))))
def test_any_file_is_read_as_the_generator_reads_it_or_refused(
    batch: list[tuple[list[str], str]], tmp_path: Path
) -> None:
    texts_by_name = {"plain": f"[Container]\nImage={IMAGE}\n"}
    expected: dict[str, tuple[list[str], list[str]]] = {"plain": ([], [])}
    for index, (lines, end) in enumerate(batch):
        text = end.join(["[Container]", f"Image={IMAGE}", *lines])
        with contextlib.suppress(Malformed):
            values = unitfile.gather(unitfile.read(text))
            command = [
                word for value in values.get(("Container", "Exec"), [])[-1:] for word in READERS["Exec"][1](value)
            ]
            labels = dict(
                pair for value in values.get(("Container", "Label"), []) for pair in unitfile.split_keyval(value)
            )
            ports = values.get(("Container", "PublishPort"), [])
            expected[f"u{index}"] = (
                command,
                [
                    *options([f"{name}={label}" for name, label in labels.items()], "--label"),
                    *options(ports, "--publish"),
                ],
            )
            texts_by_name[f"u{index}"] = text
    for quadlet in generators():
        run = quadlet.generate(tmp_path, texts_by_name)
        assert (run.status, run.messages) == (0, [])
        assert len(run.services) == len(expected)
        plain = Counter(arguments(run, "plain"))
        for name, (command, others) in expected.items():
            arrived = arguments(run, name)
            image = arrived.index(IMAGE) + 1
            assert arrived[image:] == command
            assert Counter(arrived[:image]) - plain == Counter(others)
