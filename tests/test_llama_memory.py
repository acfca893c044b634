"""What llama-server takes of each card and of the host: the whole sum, from headers that are made up."""

from typing import Any

import pytest

from made_facts import made
from memory_asks import MIB, lacking, resolved, shares, sizes, total
from quadgen.facts.record import Facts, Weights
from quadgen.resolution import Known

GIB = 2**30
CPU = "{model: plain, backend: cpu, engine: cpu, context: 4096"
UNIFIED = "{model: plain, backend: vulkan, engine: vulkan, context: 4096, gpus: [{name: A, vram: unified}]"


def gpu(*vram: str, rest: str = "") -> str:
    """A service of 4096 tokens on CUDA cards of so much memory."""
    listed = ", ".join(f"{{name: A, vram: {size}}}" for size in vram)
    return f"{{model: plain, backend: cuda, engine: cuda, context: 4096, gpus: [{listed}]{rest}}}"


def model(blocks: int = 4, *, experts: bool = False, tied: bool = False, **keys: Any) -> Facts:
    """A model with blocks of 100 MiB, embeddings of 40 and an output of 50, and of a block's experts 80."""
    told = {
        "block_count": blocks, "context_length": 32768, "embedding_length": 1024, "feed_forward_length": 4096,
        "attention__head_count": 8, "attention__head_count_kv": 2, "attention__key_length": 128,
        "attention__value_length": 128, "vocab_size": 32000, **keys,
    }  # fmt: skip
    weights = Weights(
        input=40 * MIB, output=MIB if tied else 50 * MIB, tied=tied, blocks=(100 * MIB,) * blocks, other=0,
        experts=(80 * MIB,) * blocks if experts else (),
    )  # fmt: skip
    return made({name.replace("__", "."): value for name, value in told.items()}, weights=weights)


CACHE = 4096 * 2 * (128 + 128) * 2
"""Bytes of keys and values of a block."""


def test_on_the_cpu_all_of_it_is_in_the_hosts_memory() -> None:
    found = shares(CPU + "}", Known(model=model()))
    assert sizes(found, "weights") == {None: 490 * MIB}
    assert sizes(found, "KV cache of 4096 tokens") == {None: 4 * CACHE}
    assert {each.card for each in found} == {None}
    assert not lacking(found)
    assert not sizes(found, "driver (estimated)")


def test_a_card_of_its_own_has_all_but_the_embeddings() -> None:
    found = shares(gpu("24GiB"), Known(model=model()))
    assert sizes(found, "weights") == {None: 40 * MIB, 0: 450 * MIB}
    assert sizes(found, "KV cache of 4096 tokens") == {0: 4 * CACHE}
    assert set(sizes(found, "compute buffer (estimated)")) == {None, 0}
    assert sizes(found, "driver (estimated)") == {0: 456 * MIB}


def test_a_card_that_computes_in_the_hosts_memory_has_none_of_its_own() -> None:
    found = shares(UNIFIED + "}", Known(model=model()))
    assert sizes(found, "weights") == {None: 490 * MIB}
    assert {each.card for each in found} == {None}


def test_embeddings_that_are_the_output_too_are_there_twice_on_a_gpu_and_once_on_the_cpu() -> None:
    assert sizes(shares(gpu("24GiB"), Known(model=model(tied=True))), "weights") == {None: 40 * MIB, 0: 441 * MIB}
    assert sizes(shares(CPU + "}", Known(model=model(tied=True))), "weights") == {None: 441 * MIB}


def test_embeddings_of_each_layer_are_no_output() -> None:
    facts = model(tied=True, embedding_length_per_layer_input=256)  # as many numbers again
    assert sizes(shares(gpu("24GiB"), Known(model=facts)), "weights") == {None: 40 * MIB, 0: 421 * MIB}


def test_the_fuller_of_two_cards_has_more_than_the_ratio_gives_it() -> None:
    # https://github.com/ggml-org/llama.cpp/issues/28506: 49 layers, of which 0.49 are 24.01
    found = shares(gpu("16303MiB", "16303MiB", rest=", flags: {tensor-split: [0.49, 0.51]}"), Known(model=model(48)))
    assert sizes(found, "weights") == {None: 40 * MIB, 0: 2500 * MIB, 1: 2350 * MIB}
    assert sizes(found, "KV cache of 4096 tokens") == {0: 25 * CACHE, 1: 23 * CACHE}


def test_several_cards_hold_the_masks_several_times() -> None:
    alone = sizes(shares(gpu("24GiB"), Known(model=model())), "compute buffer (estimated)")
    both = sizes(shares(gpu("24GiB", "24GiB"), Known(model=model())), "compute buffer (estimated)")
    assert both[0] == both[1] > alone[0]
    rows = shares(gpu("24GiB", "24GiB", rest=", flags: {split-mode: row}"), Known(model=model()))
    assert sizes(rows, "compute buffer (estimated)")[0] == alone[0]


def test_experts_can_stay_on_the_host() -> None:
    facts = Known(model=model(experts=True))
    all_of_them = shares(gpu("24GiB", rest=", flags: {cpu-moe: true}"), facts)
    assert sizes(all_of_them, "weights") == {None: 360 * MIB, 0: 130 * MIB}
    two = shares(gpu("24GiB", rest=", extra_args: [-ncmoe, '2']"), facts)
    assert sizes(two, "weights") == {None: 200 * MIB, 0: 290 * MIB}
    whole = sizes(shares(gpu("24GiB"), facts), "compute buffer (estimated)")[0]
    assert sizes(two, "compute buffer (estimated)")[0] == whole + 80 * MIB * 2 // 3, "it gets two of three matrices"


def test_layers_beyond_those_of_the_gpu_are_on_the_host_with_their_caches() -> None:
    found = shares(gpu("24GiB", rest=", flags: {gpu-layers: 3}"), Known(model=model()))
    assert sizes(found, "weights") == {None: 240 * MIB, 0: 250 * MIB}
    assert sizes(found, "KV cache of 4096 tokens") == {None: 2 * CACHE, 0: 2 * CACHE}


def test_caches_can_stay_on_the_host() -> None:
    found = shares(gpu("24GiB", rest=", extra_args: [-nkvo]"), Known(model=model()))
    assert sizes(found, "KV cache of 4096 tokens") == {None: 4 * CACHE}
    assert sizes(found, "weights")[0] == 450 * MIB


def test_caches_are_as_large_as_slots_and_types_make_them() -> None:
    found = shares(gpu("24GiB", rest=", slots: 3, cache_type: {k: q8_0, v: q8_0}"), Known(model=model()))
    assert sizes(found, "KV cache of 12288 tokens") == {0: 3 * 4 * CACHE * 34 // 64}


def test_what_patterns_place_is_known_in_sum_only() -> None:
    found = shares(gpu("24GiB", rest=', flags: {override-tensor: "exps=CPU"}'), Known(model=model()))
    assert lacking(found) == {"weights": "`override-tensor` decides where 0.5 GiB of weights lie"}
    assert not sizes(found, "weights").get(0)
    assert sizes(found, "KV cache of 4096 tokens") == {0: 4 * CACHE}


def test_of_blocks_whose_feed_forward_stays_on_the_host_nothing_is_claimed() -> None:
    found = shares(gpu("24GiB", rest=", flags: {n-cpu-ffn: 3}"), Known(model=model()))
    assert lacking(found) == {"weights": "`n-cpu-ffn` keeps a part of 3 blocks in the host's memory"}
    assert sizes(found, "weights") == {None: 40 * MIB, 0: 150 * MIB}


def test_a_server_that_fits_itself_is_not_reckoned() -> None:
    found = shares(gpu("24GiB", rest=", flags: {fit: on, gpu-layers: auto}"), Known(model=model()))
    assert lacking(found)["weights"].startswith("the server decides at its start")
    assert total(found, 0) == 456 * MIB


def test_cards_without_a_size_that_are_not_alike_leave_the_model_unplaced() -> None:
    fields = "{model: plain, backend: cuda, engine: cuda, context: 4096, gpus: [{name: A}, {name: B}]}"
    found = shares(fields, Known(model=model()))
    assert "nobody says how much memory CUDA0 has" in lacking(found)["weights"]
    assert "0.5 GiB of weights" in lacking(found)["weights"]


def test_a_device_by_name_is_the_card_that_it_counts() -> None:
    named = gpu("24GiB", "24GiB", rest=", devices: [CUDA1]")
    assert sizes(shares(named, Known(model=model())), "weights") == {None: 40 * MIB, 1: 450 * MIB}
    counted = gpu("24GiB", "24GiB", rest=", devices: [1]")
    assert sizes(shares(counted, Known(model=model())), "weights") == {None: 40 * MIB, 1: 450 * MIB}


def test_an_architecture_that_nobody_knows_has_its_weights_and_says_what_is_missing() -> None:
    facts = made({"block_count": 1}, architecture="unheard", weights=model(1).weights)
    found = shares(gpu("24GiB"), Known(model=facts))
    assert sizes(found, "weights") == {None: 40 * MIB, 0: 150 * MIB}
    assert set(lacking(found)) == {"KV cache", "compute buffer"}
    assert "unheard" in lacking(found)["KV cache"]


def test_the_sum_of_a_card_is_what_its_lines_are() -> None:
    # https://github.com/ggml-org/llama.cpp/pull/25123: what a desktop has of a card is not free
    fields = gpu("24576MiB", rest=", gpu_reserve: 1500MiB")
    found = shares(fields, Known(model=model()))
    card = resolved(fields).devices.cards[0]
    assert (card.vram, card.reserve) == (24576 * MIB, 1500 * MIB)
    lines = {each.what: each.size for each in found if each.card == 0}
    assert set(lines) == {"weights", "KV cache of 4096 tokens", "compute buffer (estimated)", "driver (estimated)"}
    assert total(found, 0) == sum(lines.values())


PROJECTOR = made(
    {"vision.image_size": 896, "vision.patch_size": 14, "vision.embedding_length": 1152,
     "vision.feed_forward_length": 4304, "vision.attention.head_count": 16},
    architecture="clip", type="mmproj",
    weights=Weights(input=0, output=0, tied=False, blocks=(), experts=(), other=889 * MIB),
)  # fmt: skip


def test_a_projector_is_on_the_first_card_or_in_the_hosts_memory_where_that_is_asked_for() -> None:
    known = Known(model=model(), mmproj=PROJECTOR)
    encoding = 4096 * 4 * (5 * 1152 + 3 * 4304)
    for rest, card in (
        ("", 0),
        (", flags: {mmproj-offload: false}", None),
        (", extra_args: [--no-mmproj-offload]", None),
        (", flags: {mmproj-device: CUDA1}", 1),
        (", flags: {mmproj-device: none}", None),
    ):
        found = shares(gpu("24GiB", "24GiB", rest=rest), known)
        assert sizes(found, "projector") == {card: 889 * MIB}, rest
        assert sizes(found, "projector: an image (estimated)") == {card: encoding}
    assert total(found, 0) < total(shares(gpu("24GiB", "24GiB"), known), 0)


def test_a_projector_for_images_of_any_size_is_reckoned_with_the_largest() -> None:
    keys = {**PROJECTOR.keys, "vision.spatial_merge_size": 2}
    any_size = made(keys, architecture="clip", weights=PROJECTOR.weights)
    rows = 4 * (5 * 1152 + 3 * 4304)
    found = shares(gpu("24GiB"), Known(model=model(), mmproj=any_size))
    assert sizes(found, "projector: an image (estimated)") == {0: 4096 * 4 * rows}
    found = shares(gpu("24GiB", rest=", flags: {image-max-tokens: 100}"), Known(model=model(), mmproj=any_size))
    assert sizes(found, "projector: an image (estimated)") == {0: 100 * 4 * rows}
    silent = made({}, architecture="clip", weights=PROJECTOR.weights)
    assert "projector: an image" in lacking(shares(gpu("24GiB"), Known(model=model(), mmproj=silent)))


@pytest.mark.parametrize(
    ("rest", "size"),
    [("", 8192 * MIB), (", flags: {cache-ram: 100}", 100 * MIB), (", extra_args: [-cram, '0']", None),
     (", flags: {embeddings: true}", None)],
)  # fmt: skip
def test_prompts_are_kept_in_the_hosts_memory_up_to_a_bound(rest: str, size: int | None) -> None:
    found = shares(gpu("24GiB", rest=rest), Known(model=model()))
    assert sizes(found, "prompt cache") == ({} if size is None else {None: size})
    assert all(each.grows for each in found if each.what == "prompt cache")


def test_prompts_without_a_bound_are_said_to_have_none() -> None:
    found = shares(gpu("24GiB", rest=", flags: {cache-ram: -1}"), Known(model=model()))
    assert lacking(found) == {"prompt cache": "`cache-ram` sets no bound for it"}


SLIDING = made(
    {"block_count": 6, "embedding_length": 1024, "attention.head_count": 8, "attention.head_count_kv": 2,
     "attention.key_length": 128, "attention.value_length": 128, "attention.sliding_window": 512,
     "context_length": 32768, "feed_forward_length": 4096},
    architecture="gemma3", weights=model(6).weights,
)  # fmt: skip


def test_what_cannot_be_taken_back_is_copied_to_the_host() -> None:
    window = 5 * 1024 * 2 * 256 * 2
    copies = "copies of the state, 32 for a slot"
    found = shares(gpu("24GiB", rest=", slots: 2"), Known(model=SLIDING))
    assert sizes(found, "KV cache of the sliding window") == {0: 2 * window}
    assert sizes(found, copies) == {None: 32 * 2 * window}
    unified = shares(gpu("24GiB", rest=", slots: 2, flags: {kv-unified: true}"), Known(model=SLIDING))
    assert sizes(unified, copies) == {None: 32 * 2 * window}
    full = shares(gpu("24GiB", rest=", flags: {swa-full: true}"), Known(model=SLIDING))
    assert not sizes(full, copies)
    none = shares(gpu("24GiB", rest=", flags: {ctx-checkpoints: 0}"), Known(model=SLIDING))
    assert not [each.what for each in none if each.what.startswith("copies")]
    assert not sizes(shares(gpu("24GiB"), Known(model=model())), copies)


def test_without_a_header_the_declared_weights_are_where_they_can_be_proven_to_be() -> None:
    what = "weights; its context comes on top"
    text = "{{model: sized, backend: {}, engine: {}, context: 4096{}}}"
    two = ", gpu_reserve: 1GiB, gpus: [{name: A, vram: 25GiB}, {name: A, vram: 9GiB}]"
    nothing = Known()
    assert sizes(shares(sized(text.format("cpu", "cpu", "")), nothing), what) == {None: 8 * GIB}
    assert sizes(shares(sized(text.format("cuda", "cuda", "")), nothing), what) == {0: 8 * GIB}
    assert sizes(shares(sized(text.format("cuda", "cuda", two)), nothing), what) == {0: 6 * GIB, 1: 2 * GIB}
    partly = shares(sized(text.format("cuda", "cuda", ", flags: {gpu-layers: 9}")), nothing)
    assert lacking(partly) == {what: "nobody can say where 8.0 GiB of weights lie without their header"}
    assert shares(CPU + "}", nothing) == ()


def sized(fields: str) -> Any:
    """A service with a model whose size the fleet says."""
    return resolved(fields, models="  sized: {file: sized.gguf, mtp: false, size: 8GiB}\n")


def test_equal_services_are_reckoned_once() -> None:
    known = Known(model=model())
    first, second = (shares(gpu("24GiB", rest=f", port: {port}"), known) for port in (8081, 8082))
    assert first is second
