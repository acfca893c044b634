"""`quadgen agreement`: its words, its JSON, its exit status, and what it says of servers that do not answer."""

import json
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from command import Done, quadgen
from file_server import Answer, Reply, Seen, Server, started, status
from lettered import WORDS, Lettered, stumbles
from quadgen.agreeing.vocabulary import MOST
from quadgen.server.speaking import FALLBACK

pytestmark = [pytest.mark.loopback, pytest.mark.usefixtures("no_proxies")]

TEXTS = "hello\n---\na\n---\nkkk"


@pytest.fixture(name="here")
def _here(tmp_path: Path) -> Path:
    (tmp_path / "mine.txt").write_text(TEXTS, encoding="utf-8")
    return tmp_path


@pytest.fixture(name="stack")
def _stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def as_server(model: Lettered, *, template: str = FALLBACK) -> dict[str, Answer]:
    """The endpoints of a llama-server that has this model."""

    def json_of(make: Callable[[dict[str, Any]], Any]) -> Answer:
        return lambda seen: Reply(200, {}, json.dumps(make(json.loads(seen.body or b"{}"))).encode())

    def tokenized(body: dict[str, Any]) -> dict[str, Any]:
        return {"tokens": (model.prompt if body["add_special"] else model.ids)(body["content"])}

    meta = {"n_vocab": len(model.words), "vocab_type": model.kind}
    return {
        "/v1/models": json_of(lambda _: {"data": [{"id": "m", "meta": meta}]}),
        "/props": json_of(
            lambda _: {"chat_template": template, "default_generation_settings": {"n_ctx": model.room or 4096}}
        ),
        "/tokenize": json_of(tokenized),
        "/detokenize": json_of(lambda body: {"content": model.text(body["tokens"])}),
        "/apply-template": json_of(lambda body: {"prompt": f"u{body['messages'][0]['content']}b"}),
        "/completion": json_of(lambda body: {"tokens": model.goes(body["prompt"], body["n_predict"])}),
    }


def agreement(here: Path, target: Server, draft: Server, *words: str) -> Done:
    return quadgen("agreement", target.url(), draft.url(), "--prompts", "mine.txt", *words, cwd=here)


def test_it_says_how_often_a_drafter_is_right(here: Path, stack: ExitStack) -> None:
    target = stack.enter_context(started(as_server(Lettered())))
    draft = stack.enter_context(started(as_server(Lettered(following=stumbles))))
    done = agreement(here, target, draft, "--tokens", "20", "--width", "2")
    assert done.status == 0
    steps = ["0 of 4 done, now tokenizers", "1 of 4 done, now 1", "2 of 4 done, now 2", "3 of 4 done, now 3"]
    assert done.err.splitlines() == [f"quadgen: {each}" for each in steps]
    assert done.out == (
        f"target   {target.url()}\n"
        f"draft    {draft.url()}\n"
        "tokens   the same 32 in both\n"
        "prompts  3, asked as plain text; the target wrote 60 tokens\n"
        "\n"
        "position   tried  accepted      p   of all rounds\n"
        "       1      25        15  0.600   0.600\n"
        "       2      15        14  0.933   0.609\n"
        "\n"
        "25 rounds, 48 drafted, 29 accepted: 0.604, 2.16 tokens per round\n"
        "p = 0.725 per position, 95% interval 0.539 to 0.911, at temperature 0\n"
        "whether that pays: quadgen triage --acceptance 0.54-0.91 ...\n"
    )


def test_json_has_the_acceptance_that_triage_reads(here: Path, stack: ExitStack) -> None:
    target = stack.enter_context(started(as_server(Lettered())))
    draft = stack.enter_context(started(as_server(Lettered(following=stumbles))))
    done = agreement(here, target, draft, "--tokens", "20", "--format", "json")
    (here / "pair.json").write_text(done.out, encoding="utf-8")
    costs = ("--target-step", "67", "--draft-step", "12", "--drafter", "plain", "--format", "json")
    triaged = quadgen("triage", "--acceptance", "pair.json", *costs, cwd=here)
    assert triaged.status == 0, triaged.err
    told = json.loads(done.out)
    assert (done.status, told["kind"], told["refusal"]) == (0, "agreement", None)
    assert told["acceptance"].keys() == {"low", "high", "estimate"}
    assert 0 < told["acceptance"]["low"] < told["acceptance"]["estimate"] < told["acceptance"]["high"] < 1
    assert told["target"] == {"url": target.url(), "model": None, "tokens": 32}
    assert [each["name"] for each in told["prompts"]] == ["1", "2", "3"]
    assert sum(each["rounds"] for each in told["prompts"]) == told["counted"]["rounds"] == told["positions"][0]["tried"]


def test_a_model_with_a_template_of_its_own_is_asked_in_it(here: Path, stack: ExitStack) -> None:
    target = stack.enter_context(started(as_server(Lettered(), template="{{ messages }}")))
    for words, asked in ((), "in the target's chat template"), (("--no-chat",), "as plain text"):
        done = agreement(here, target, target, *words)
        assert done.status == 0
        assert f"prompts  3, asked {asked};" in done.out
        assert "note: target and drafter are the same server" in done.out
    shown = stack.enter_context(started(as_server(Lettered())))
    assert "in the target's chat template" in agreement(here, shown, target, "--chat").out


def test_tokenizers_that_differ_end_with_1_and_a_reason(here: Path, stack: ExitStack) -> None:
    target = stack.enter_context(started(as_server(Lettered())))
    draft = stack.enter_context(started(as_server(Lettered(kind=1))))
    done = agreement(here, target, draft)
    assert done.status == 1
    assert done.out.endswith("no estimate: the tokenizers differ: they are tokenizers of two types\n")
    told = json.loads(agreement(here, target, draft, "--format", "json").out)
    assert (told["acceptance"], told["refusal"]) == (None, "the tokenizers differ: they are tokenizers of two types")


def test_a_text_that_ends_at_once_is_no_agreement(here: Path, stack: ExitStack) -> None:
    target = stack.enter_context(started(as_server(Lettered(following=lambda _: 1))))
    done = agreement(here, target, target)
    assert done.status == 1
    assert "no estimate: the target ends every text at once, so that nothing is drafted\n" in done.out


def test_bytes_that_a_server_does_not_tell_are_said_to_be_unknown(here: Path, stack: ExitStack) -> None:
    halves = Lettered(words=(*WORDS, "\ufffd", "\ufffd"))
    server = stack.enter_context(started(as_server(halves)))
    done = agreement(here, server, server)
    assert done.status == 0
    assert "note: the bytes of 2 tokens that are no text alone are not told, and were not compared\n" in done.out


def test_each_server_is_sent_its_own_key(here: Path, stack: ExitStack) -> None:
    (here / "one").write_text("sk-one\n", encoding="utf-8")
    (here / "two").write_text("sk-two\n", encoding="utf-8")
    target = stack.enter_context(started(as_server(Lettered())))
    draft = stack.enter_context(started(as_server(Lettered())))
    agreement(here, target, draft, "--api-key-file", "one", "--draft-api-key-file", "two")
    assert {seen.headers["Authorization"] for seen in target.seen} == {"Bearer sk-one"}
    assert {seen.headers["Authorization"] for seen in draft.seen} == {"Bearer sk-two"}


def changed(**answers: Answer) -> Mapping[str, Answer]:
    return as_server(Lettered()) | {f"/{name.replace('__', '/')}": answer for name, answer in answers.items()}


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ({}, "there is no /v1/models at this address (404)"),
        (changed(v1__models=status(401)), "it wants an API key (401): give it by --api-key-file FILE"),
        (
            changed(v1__models=lambda _: Reply(200, {}, b'{"data": []}')),
            "/v1/models does not say how many tokens it has",
        ),
        (changed(v1__models=lambda _: Reply(200, {}, b"[]")), "/v1/models does not say how many tokens it has"),
        (
            changed(v1__models=lambda _: Reply(200, {}, b'{"data": [{"meta": {"n_vocab": 1%s}}]}' % (b"0" * 400))),
            f"/v1/models says that it has more than {MOST} tokens, which no vocabulary has",
        ),
        (
            changed(v1__models=lambda _: Reply(200, {}, b'{"data": [{"id": "a"}, {"id": "b"}]}')),
            "it serves several models: say which",
        ),
        (changed(tokenize=lambda _: Reply(200, {}, b'{"tokens": ["a"]}')), "its answer is not that of a llama-server"),
        (changed(detokenize=lambda _: Reply(200, {}, b"7")), "its answer is not that of a llama-server"),
        (changed(completion=lambda _: Reply(200, {}, b'{"content": "b"}')), "its answer is not that of a llama-server"),
        (changed(completion=status(501)), "it does not support /completion (501)"),
    ],
)
def test_a_server_that_does_not_answer_so_ends_with_4(answers: Mapping[str, Answer], why: str, here: Path) -> None:
    with started(answers) as one, started(as_server(Lettered())) as other:
        done = agreement(here, one, other)
    assert (done.status, done.out) == (4, "")
    assert why in done.err


def test_a_port_at_which_nothing_listens_ends_with_4(here: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        done = quadgen("agreement", url, url, cwd=here)
    assert done.status == 4
    assert "nothing listens at" in done.err


def test_a_server_that_dies_midway_says_in_which_prompt(here: Path, stack: ExitStack) -> None:
    sound = as_server(Lettered())
    given: list[Seen] = []

    def failing(seen: Seen) -> Reply:
        given.append(seen)
        return sound["/completion"](seen) if len(given) < 9 else Reply(500)

    target = stack.enter_context(started(sound))
    draft = stack.enter_context(started(sound | {"/completion": failing}))
    done = agreement(here, target, draft, "--tokens", "20")
    assert done.status == 4
    assert done.err.rstrip().endswith("(in prompt 2 of 3)")


@pytest.mark.parametrize(
    "words",
    [("--width", "0"), ("--tokens", "1"), ("--timeout", "0"), ("--timeout", "inf"), ("--timeout", "1e12"),
     ("--width", "many")],
)  # fmt: skip
def test_a_setting_that_cannot_be_is_a_mistake_of_usage(words: tuple[str, str], here: Path) -> None:
    assert quadgen("agreement", "http://127.0.0.1:1", "http://127.0.0.1:1", *words, cwd=here).status == 2


def test_prompts_are_read_before_any_server_is_asked(here: Path) -> None:
    (here / "mine.jsonl").write_text('{"question": "?"}\n', encoding="utf-8")
    done = quadgen("agreement", "http://127.0.0.1:1", "http://127.0.0.1:1", "--prompts", "mine.jsonl", cwd=here)
    assert done.status == 1
    assert "error[unreadable-prompts]" in done.err
    assert "mine.jsonl:1:1" in done.err
