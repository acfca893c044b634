"""Files that are given for a log and are none: packed, of another encoding, or an answer of a server."""

import bz2
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command import Done, quadgen
from quadgen.observed.foreign import Wanted, begun
from quadgen.problems import Rejected

LOG = (
    "0.03.237.505 I slot print_timing: id  1 | task 2 |        eval time =    1478.14 ms /   120 tokens "
    "(   12.42 ms per token,    80.51 tokens per second)\n"
    "0.03.237.519 I slot print_timing: id  1 | task 2 | draft acceptance = 0.79528 (  101 accepted /   127 generated),"
    " mean len =  6.61\n"
)
SENTENCE = LOG.splitlines()[1]
WANTED = Wanted(then="| cat", instead="a log")
PACKED: list[tuple[Callable[[bytes], bytes], str, str]] = [
    (gzip.compress, "is packed by gzip", "zcat"),
    (lzma.compress, "is packed by xz", "xzcat"),
    (bz2.compress, "is packed by bzip2", "bzcat"),
    (lambda data: b"\x28\xb5\x2f\xfd" + data, "is packed by zstd", "zstdcat"),
    (lambda data: b"\x04\x22\x4d\x18" + data, "is packed by lz4", "lz4cat"),
    (lambda data: b"LPKSHHRH" + data, "is a journal of systemd in its own form", "journalctl -o cat --file"),
    (lambda data: data.decode().encode("utf-16"), "is a text in UTF-16", "iconv -f UTF-16 -t UTF-8"),
    (lambda data: data.decode().encode("utf-32"), "is a text in UTF-32", "iconv -f UTF-32 -t UTF-8"),
    (lambda data: data.decode().encode("utf-16-le"), "is a text in UTF-16", "iconv -f UTF-16LE -t UTF-8"),
    (lambda data: data.decode().encode("utf-16-be"), "is a text in UTF-16", "iconv -f UTF-16BE -t UTF-8"),
]
ERROR = "This server does not support metrics endpoint. Start it with `--metrics`"
ANSWERS: list[tuple[Any, str]] = [
    ([{"id": 0, "n_ctx": 4096, "speculative": False}], "what a server answers at /slots"),
    ({"default_generation_settings": {"n_ctx": 4096}, "total_slots": 1}, "what a server answers at /props"),
    ({"status": "ok"}, "what a server answers at /health"),
    ({"error": {"code": 501, "message": ERROR}}, "an error that a server answered"),
    ({"error": "no such path"}, "an error that a server answered"),
    ({"error": None}, "an error that a server answered"),
    ({"kind": "agreement", "acceptance": None}, "what `quadgen agreement` printed"),
    ({"object": "list", "data": []}, "an object of JSON"),
    ([1, 2], "a list of JSON"),
]


def observed(*words: str, cwd: Path) -> Done:
    return quadgen("observe", *words, "--format", "json", cwd=cwd)


def refused(done: Done) -> dict[str, Any]:
    assert done.status == 1, done.out
    (problem,) = json.loads(done.out)
    assert problem["code"] == "unreadable-log"
    found: dict[str, Any] = problem
    return found


@pytest.mark.parametrize(("pack", "what", "command"), PACKED, ids=[command for _, _, command in PACKED])
def test_a_log_that_is_no_text_yet_is_refused_with_the_command_that_makes_it_one(
    pack: Callable[[bytes], bytes], what: str, command: str, tmp_path: Path
) -> None:
    (tmp_path / "a log.gz").write_bytes(pack(LOG.encode() * 9))
    problem = refused(observed("a log.gz", cwd=tmp_path))
    assert problem["message"] == f"a log.gz {what}"
    assert problem["hint"] == f"turn it into text first: {command} 'a log.gz' | quadgen observe -"
    for option in ("--target-log", "--draft-log", "--verify-log", "--acceptance"):
        rate = [] if option == "--target-log" else ["--target-step", "50"]
        done = quadgen("triage", "--drafter", "head", *rate, option, "a log.gz", cwd=tmp_path)
        assert (done.status, done.out) == (1, "")
        assert f"error[unreadable-log]: a log.gz {what}\n" in done.err
        assert f"{command} 'a log.gz' > server.log\n" in done.err


def test_what_comes_through_a_pipe_is_known_however_small_its_pieces_are() -> None:
    data = gzip.compress(LOG.encode())
    with pytest.raises(Rejected) as rejected:
        begun("-", (data[at : at + 1] for at in range(len(data))), WANTED)
    (problem,) = rejected.value.problems
    assert problem.message == "standard input is packed by gzip"
    assert problem.hint == "turn it into text first: zcat FILE | cat"
    start, rest = begun("-", (LOG.encode()[at : at + 1] for at in range(len(LOG))), WANTED)
    assert start == b"".join(rest) == LOG.encode()


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(("answer", "what"), ANSWERS)
def test_an_answer_of_a_server_is_no_log_that_has_nothing_in_it(
    answer: Any, what: str, indent: int | None, tmp_path: Path
) -> None:
    (tmp_path / "saved").write_text(json.dumps(answer, indent=indent), encoding="utf-8")
    problem = refused(observed("saved", cwd=tmp_path))
    assert problem["message"] == f"saved is {what}, and no log"
    assert problem["hint"] == "give the log of the server, the text of its /metrics, or its own address"
    done = quadgen("triage", "--drafter", "head", "--target-log", "saved", cwd=tmp_path)
    assert f"error[unreadable-log]: saved is {what}, and no log\n" in done.err


def test_an_answer_that_was_streamed_is_no_log_either(tmp_path: Path) -> None:
    (tmp_path / "saved").write_text('data: {"content":"a","timings":{"draft_n":8}}\n\n' * 3, encoding="utf-8")
    problem = refused(observed("saved", cwd=tmp_path))
    assert problem["message"] == "saved is an answer that a server streamed, and no log"


def test_an_error_is_quoted_so_that_it_can_be_put_right(tmp_path: Path) -> None:
    (tmp_path / "saved").write_text(json.dumps({"error": {"message": ERROR}}), encoding="utf-8")
    assert refused(observed("saved", cwd=tmp_path))["notes"] == [f"it says: {ERROR}"]


def test_an_earlier_text_of_metrics_that_is_none_is_told_by_itself(tmp_path: Path) -> None:
    (tmp_path / "after.txt").write_text("llamacpp:tokens_predicted_total 1\n", encoding="utf-8")
    (tmp_path / "before").write_bytes(gzip.compress(b"llamacpp:tokens_predicted_total 1\n"))
    problem = refused(observed("after.txt", "--since", "before", cwd=tmp_path))
    assert problem["hint"] == "turn it into text first: zcat before > before.txt"


@pytest.mark.parametrize("key", ["msg", "MESSAGE", "log"])
@pytest.mark.parametrize("lines", [1, 2])
def test_a_log_whose_lines_are_json_is_one_though_it_has_a_single_line(key: str, lines: int, tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text(json.dumps({"ts": 1, key: f"{SENTENCE}\n"}) + "\n", encoding="utf-8")
    text = (tmp_path / "server.log").read_text(encoding="utf-8")
    (tmp_path / "server.log").write_text(text * lines, encoding="utf-8")
    done = observed("server.log", cwd=tmp_path)
    assert (done.status, json.loads(done.out)["total"]["accepted"]) == (0, 101 * lines), done.out


@pytest.mark.parametrize("text", ["", "{", "[12:00] hello\n", "[" * 100_000, "plain words\n", "\0" * 64, "{}{}"])
def test_whatever_is_no_whole_value_is_a_log_of_which_nothing_is_known(text: str, tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text(text, encoding="utf-8")
    done = observed("server.log", cwd=tmp_path)
    assert (done.status, json.loads(done.out)["state"]) == (0, "unknown")
