"""Which drafters of the real llama-server draft otherwise once they have answered something else."""

from typing import Final

import pytest

from parts import gemma, llama_server
from quadgen.engines.drafters import CARRYING
from quadgen.server.client import Server, connected
from quadgen.server.process import running

pytestmark = [pytest.mark.loopback, pytest.mark.usefixtures("no_proxies")]
LONG: Final = """\
The old harbour master kept seven ledgers on the shelf above his desk, one for each day of the week, and wrote into
them with a pen of blue glass. On Monday the grain ships came from the north, heavy and slow, with sailors who sang
in a tongue that nobody in the town could read. On Tuesday the fishing boats went out before dawn, and on Wednesday
the ferry brought teachers, tailors and a travelling dentist."""
SHORT: Final = """\
In the valley of the three bridges, a clockmaker named Orsolya repaired engines that others had given up. Her
workshop smelled of oil and warm bread, because the baker next door shared her chimney."""


def drafted(server: Server, text: str) -> int:
    """How many tokens are drafted while the model repeats a text."""
    prompt = f"A text, and then the same text, word for word.\n\n{text}\n\n{text[:60]}"
    body = {"prompt": prompt, "n_predict": 24, "temperature": 0, "ignore_eos": True, "cache_prompt": False}
    answer = server.post("/completion", body, timeout=300.0)
    assert isinstance(answer, dict)
    return int(answer["timings"].get("draft_n") or 0)


@pytest.mark.parametrize("kind", ["ngram-map-k", "ngram-simple"])
def test_a_map_of_the_last_prompt_hides_the_next_one(kind: str) -> None:
    arguments = ["--model", str(gemma()), "--threads", "1", "--ctx-size", "1024", "--parallel", "1", "--cache-ram", "0"]
    arguments += ["--spec-type", kind]
    with (
        running(llama_server(), arguments, environ={}, ready_within=120) as process,
        connected(process.url, environ={}, timeout=300.0) as server,
    ):
        first, second = (drafted(server, text) for text in (LONG, SHORT))
    assert first > 0
    assert (second == 0) is (kind in CARRYING)
