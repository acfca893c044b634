"""Asking a halogen for a drafter that it may not have. Halogen itself runs on one GPU alone: a stand-in answers here.

The stand-in says what docs/FLAGS.md and README.md of https://github.com/peonist-ai/halogen-flash-server say of it.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest

import file_server
import parts
import serving
import tiny_pairs
from file_server import NOTHING, Seen
from file_server import Reply as Answer
from quadgen.server.client import connected
from quadgen.server.failures import NoAnswer
from quadgen.server.probe import Probed, Reply, probe

pytestmark = [pytest.mark.loopback, pytest.mark.usefixtures("no_proxies")]

HEALTH: Final = {
    "status": "ok", "version": {"api": "0.17.3", "engine": "0.17.3", "match": True},
    "drafters_available": ["serial", "mtp"], "drafter_default": "mtp",
}  # fmt: skip
REFUSAL: Final = "drafter 'dflash2' unavailable: the loaded checkpoint cannot serve it"
CHAT: Final = "/v1/chat/completions"


def answer(body: Any, status: int = 200) -> file_server.Answer:
    return lambda _: Answer(status, {"Content-Type": "application/json"}, json.dumps(body).encode())


def refusal(words: str) -> dict[str, Any]:
    return {"error": {"message": words, "type": "invalid_request_error", "param": None, "code": None}}


@pytest.fixture
def halogen() -> Iterator[file_server.Server]:
    """A halogen without dflash2."""
    with file_server.started({"/health": answer(HEALTH), CHAT: answer(refusal(REFUSAL), 400)}) as server:
        yield server


def asked(server: file_server.Server, drafter: str = "dflash2", environ: Mapping[str, str] = NOTHING) -> Probed:
    with connected(server.url(), environ=environ, timeout=5) as client:
        return probe(client, drafter)


def test_a_drafter_that_the_checkpoint_does_not_have_is_refused_in_the_words_of_the_server(
    halogen: file_server.Server,
) -> None:
    assert asked(halogen) == Probed(
        drafter="dflash2", reply=Reply.REFUSED, words=REFUSAL, available=("serial", "mtp"), default="mtp",
        version="0.17.3",
        sentence=f"halogen 0.17.3 refuses dflash2: {REFUSAL}; it has serial and mtp, and nothing can be attached",
    )  # fmt: skip


def test_a_drafter_of_its_own_is_taken(halogen: file_server.Server) -> None:
    halogen.answers[CHAT] = answer({"choices": []})
    found = asked(halogen, "mtp")
    assert (found.reply, found.words) == (Reply.TAKEN, None)
    assert found.sentence == "halogen 0.17.3 drafts with mtp of its own; nothing else can be attached to it"


def test_a_drafter_that_is_taken_and_not_listed_is_said_to_be_so(halogen: file_server.Server) -> None:
    halogen.answers[CHAT] = answer({"choices": []})
    assert asked(halogen).sentence.endswith(", and by its /health it has serial and mtp alone")


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (400, refusal("max_tokens: invalid"), "400 Bad Request: max_tokens: invalid"),
        (401, refusal("no key"), "it wants an API key (401)"),
        (503, refusal("queue timed out"), "503 Service Unavailable: queue timed out"),
        (500, {"detail": "drafter"}, "500 Internal Server Error: drafter"),
    ],
)
def test_any_other_failure_is_no_answer_to_the_question(
    halogen: file_server.Server, status: int, body: Any, says: str
) -> None:
    halogen.answers[CHAT] = answer(body, status)
    with pytest.raises(NoAnswer) as failure:
        asked(halogen)
    assert says in str(failure.value)
    assert failure.value.status == status


@pytest.mark.parametrize(
    "health",
    [
        {"status": "ok"}, {"drafters_available": "mtp"}, {"drafters_available": [1]}, [], None,
    ],
)  # fmt: skip
def test_what_is_no_halogen_is_not_asked(halogen: file_server.Server, health: Any) -> None:
    halogen.answers["/health"] = answer(health)
    found = asked(halogen)
    assert (found.reply, found.available) == (Reply.NO_PROOF, None)
    assert found.sentence == f"{halogen.url()} is no halogen: its /health lists no drafters, so it was not asked"
    assert CHAT not in {seen.path for seen in halogen.seen}


@pytest.mark.parametrize("version", [None, "0.2", {"engine": 3}, {}])
def test_a_health_of_another_shape_says_less(halogen: file_server.Server, version: Any) -> None:
    halogen.answers["/health"] = answer({"drafters_available": ["serial"], "version": version, "drafter_default": 1})
    found = asked(halogen)
    assert (found.version, found.default, found.available) == (None, None, ("serial",))
    assert found.sentence.startswith("halogen refuses dflash2: ")


def test_words_of_a_server_cannot_move_a_terminal(halogen: file_server.Server) -> None:
    halogen.answers["/health"] = answer({**HEALTH, "drafters_available": ["\x1b[31mred"], "drafter_default": "\x07"})
    halogen.answers[CHAT] = answer(refusal("drafter \x1b[2J gone\n" + "x" * 10_000), 400)
    found = asked(halogen, "\x1b[1m")
    assert "\x1b" not in found.sentence + str(found.words) + str(found.available) + str(found.default)
    assert len(found.sentence) < 1000


def test_a_server_that_loads_or_is_not_there_is_an_error(halogen: file_server.Server) -> None:
    halogen.answers["/health"] = answer({"error": {"message": "Loading model", "code": 503}}, 503)
    with pytest.raises(NoAnswer, match="still loading"):
        asked(halogen)


def test_the_request_is_for_one_token_by_that_drafter(halogen: file_server.Server) -> None:
    got: list[Seen] = []

    def reply(seen: Seen) -> Answer:
        got.append(seen)
        return Answer(200, {}, b"{}")

    halogen.answers[CHAT] = reply
    asked(halogen, environ={"LLAMA_API_KEY": "k"})
    (seen,) = got
    sent = json.loads(seen.body)
    assert (sent["drafter"], sent["max_tokens"], sent["stream"]) == ("dflash2", 1, False)
    assert seen.headers["Authorization"] == "Bearer k"


def test_a_llama_server_takes_any_name_and_so_is_not_asked(tmp_path: Any) -> None:
    model = tiny_pairs.make(tmp_path, "plain")
    with serving.start(parts.llama_server(), "--model", str(model), "--no-slots") as server:
        assert server.ready, server.log
        status, _ = server.post(CHAT, {"messages": [{"role": "user", "content": "a"}], "max_tokens": 1, "drafter": "x"})
        assert status == 200
        url = f"http://127.0.0.1:{server._port()}"  # noqa: SLF001 - the harness of these tests
        with connected(url, environ={}) as client:
            found = probe(client, "dflash2")
    assert found.reply is Reply.NO_PROOF
    assert found.sentence.startswith(f"{url} is a llama-server (b11434")
    assert found.sentence.endswith("which takes any name and proves nothing by it, so it was not asked")
