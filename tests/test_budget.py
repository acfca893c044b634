"""Whether services fit on cards and hosts, what a refusal says of it, and the context that gives way."""

import json
from dataclasses import replace
from typing import Any

import pytest

from command import quadgen
from fleets import ENGINES, accepted, refusal
from locks import GIB, LOCK, MIB, TOKEN, dense, locked
from quadgen.pipeline import Compiled, find
from quadgen.problems import Severity
from quadgen.resolution import Resolution

CARD = "{name: NVIDIA GeForce RTX 3090, vram: %s}"


def cuda(vram: str = "24GiB", *, more: str = "", host: str = "", cards: int = 1, services: str | None = None) -> str:
    """A fleet of one host with equal cards; `more` are fields of its service, `host` of the host."""
    gpus = ", ".join([CARD % vram] * cards)
    served = f"model: m{more}" if services is None else f"services: {{{services}}}"
    models = ENGINES.replace("models:\n", "models:\n  m: {file: m.gguf}\n  n: {file: n.gguf}\n")
    return f"{models}hosts:\n  box: {{backend: cuda, gpus: [{gpus}]{host}, {served}}}\n"


def services(found: Compiled) -> dict[str, Resolution]:
    return {service.name: service for service in find(found, "box", None)}


def taken(service: Resolution, what: str, card: int | None = 0) -> int:
    return sum(share.size for share in service.memory if share.what.startswith(what) and share.card == card)


def test_weights_and_caches_lie_on_the_card_to_the_byte() -> None:
    (service,) = services(accepted(cuda(more=", context: 8192"), locked({"m.gguf": dense()}))).values()
    assert taken(service, "weights") == 16 * GIB  # embeddings that are the output too are there a second time
    assert taken(service, "weights", None) == GIB
    assert taken(service, "KV cache") == 8192 * TOKEN


def test_a_quantised_cache_and_slots_count() -> None:
    text = cuda(more=", context: 8192, slots: 2, cache_type: q8_0")
    (service,) = services(accepted(text, locked({"m.gguf": dense()}))).values()
    assert taken(service, "KV cache") == 2 * 8192 * TOKEN * 34 // 64


def test_what_does_not_fit_is_refused_with_the_sum_and_the_longest_context() -> None:
    files = locked({"m.gguf": dense()})
    problem = refusal(cuda(more=", context: 65536"), files)
    assert problem.code == "does-not-fit"
    assert problem.message.startswith("card 0 of box, NVIDIA GeForce RTX 3090, has 24.0 GiB, and its services need at ")
    lines = "\n".join(problem.notes)
    for words in (
        "16.0 GiB weights",
        "10.0 GiB KV cache of 65536 tokens",
        "compute buffer",
        "driver",
        "kept free: 1.0 GiB",
    ):
        assert words in lines
    assert problem.hint is not None
    context = int(problem.hint.removeprefix("the longest context that fits is `context: ").removesuffix("`"))
    accepted(cuda(more=f", context: {context}"), files)
    assert refusal(cuda(more=f", context: {context + 256}"), files).code == "does-not-fit"


def test_a_card_that_is_too_small_for_the_weights_is_no_matter_of_context() -> None:
    problem = refusal(cuda("12GiB", more=", context: 4096"), locked({"m.gguf": dense()}))
    assert problem.hint == "the card is too small for llama-server as the fleet sets it"


def test_a_reserve_is_kept_free() -> None:
    files = locked({"m.gguf": dense()})
    fits = cuda("20GiB", more=", context: 8192")
    accepted(fits, files)
    desk = fits.replace("vram: 20GiB", "vram: 20GiB, reserve: 3GiB")
    assert "kept free: 3.0 GiB" in "\n".join(refusal(desk, files).notes)
    assert refusal(cuda("20GiB", more=", context: 8192", host=", gpu_reserve: 3GiB"), files).code == "does-not-fit"
    accepted(cuda("20GiB", more=", context: 8192", host=", gpu_reserve: 1MiB"), files)


def test_a_context_that_nobody_says_gives_way_until_it_fits() -> None:
    files = locked({"m.gguf": dense()})
    found = accepted(cuda("20GiB"), files)
    (service,) = services(found).values()
    assert 256 <= service.context < 32768
    assert service.context % 256 == 0
    assert f"{service.context} tokens fit beside the rest" in service.notes[-1]
    assert refusal(cuda("20GiB", more=f", context: {service.context + 256}"), files).code == "does-not-fit"


def test_services_without_a_context_give_way_alike() -> None:
    both = "a: {model: m, port: 8081}, b: {model: n, port: 8082}"
    files = locked({"m.gguf": dense(6 * GIB), "n.gguf": dense(8 * GIB)})
    found = services(accepted(cuda("20GiB", services=both), files))
    assert found["a"].context == found["b"].context < 32768
    apart = services(accepted(cuda("20GiB", services=both.replace("8082", "8082, conflicts: [a]")), files))
    assert {each.context for each in apart.values()} == {32768}


def test_a_model_over_two_cards_is_split_by_what_is_free() -> None:
    (service,) = services(accepted(cuda(cards=2, more=", context: 8192"), locked({"m.gguf": dense()}))).values()
    one, other = taken(service, "weights", 0), taken(service, "weights", 1)
    assert one + other == 16 * GIB
    assert abs(one - other) < 2 * GIB


def test_a_split_that_overfills_one_card_is_refused_for_that_card() -> None:
    files = locked({"m.gguf": dense(26 * GIB)})
    accepted(cuda("16303MiB", cards=2, more=", context: 4096"), files)
    problem = refusal(cuda("16303MiB", cards=2, more=', context: 4096, flags: {tensor-split: "0.4,0.6"}'), files)
    assert problem.message.startswith("card 1 of box")


def test_an_unknown_architecture_counts_its_weights_and_says_so() -> None:
    files = locked({"m.gguf": replace(dense(), architecture="strange")})
    (service,) = services(accepted(cuda(more=", context: 8192"), files)).values()
    assert any("strange" in (share.missing or "") for share in service.memory)
    problem = refusal(cuda("16GiB", more=", context: 8192"), files)
    assert any("not counted" in note and "strange" in note for note in problem.notes)


def test_what_grows_beyond_the_host_is_a_warning_with_the_bound_that_helps() -> None:
    files = locked({"m.gguf": dense()})
    found = accepted(cuda(more=", context: 8192", host=", memory: 6GiB"), files)
    (problem,) = [each for each in found.problems if each.code == "does-not-fit"]
    assert problem.severity is Severity.WARNING
    assert problem.hint is not None
    bound = int(problem.hint.removeprefix("set `flags: {cache-ram: ").partition("}")[0])
    quiet = accepted(cuda(more=f", context: 8192, flags: {{cache-ram: {bound}}}", host=", memory: 6GiB"), files)
    assert not [each for each in quiet.problems if each.code == "does-not-fit"]


@pytest.mark.parametrize("shape", ["text", "json"])
def test_explain_shows_the_budget(shape: str, tmp_path: Any) -> None:
    (tmp_path / "fleet.yml").write_text(cuda(more=", context: 8192", host=", memory: 64GiB"))
    (tmp_path / LOCK).write_text(locked({"m.gguf": dense()})[LOCK])
    done = quadgen("explain", "fleet.yml", "box", "--format", shape, cwd=tmp_path)
    if shape == "text":
        assert "    of card 0, NVIDIA GeForce RTX 3090\n" in done.out
        assert "1.2 GiB    KV cache of 8192 tokens" in done.out
        assert "of 24.0 GiB, 1.0 GiB of them kept free" in done.out
        return
    (service,) = json.loads(done.out)["services"]
    memory = service["memory"]
    cache = {"what": "KV cache of 8192 tokens", "bytes": 8192 * TOKEN, "counted": True, "card": 0, "grows": False}
    assert cache in memory["needs"]
    (card,) = memory["cards"]
    assert card["vram"] == 24 * GIB
    assert card["total"] == sum(each["bytes"] for each in memory["needs"] if each["card"] == 0 and each["counted"])
    assert memory["host"] == 64 * GIB
    assert card["reserve"] == 1024 * MIB


def test_a_header_that_announces_blocks_without_end_is_unknown_and_takes_no_time() -> None:
    facts = dense(block_count=2**31)
    (service,) = services(accepted(cuda(more=", context: 8192"), locked({"m.gguf": facts}))).values()
    assert any("block_count" in (share.missing or "") for share in service.memory)
