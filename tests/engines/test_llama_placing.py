"""Which block goes to which device: by whole layers, as llama-server splits a model."""

import pytest

from quadgen.engines.llama_placing import (
    HOST,
    UNSEEN,
    Device,
    Laid,
    Placement,
    Split,
    Unplaced,
    in_turn,
    laid,
    placement,
)

GIB = 2**30


def cards(*vram: int | None, reserve: int = 0, model: str | None = "A") -> list[Device]:
    """Cards of so many GiB."""
    return [
        Device(f"CUDA{at}", at, model, None if size is None else size * GIB, reserve * GIB)
        for at, size in enumerate(vram)
    ]


def placed(blocks: int, split: Split, devices: list[Device]) -> Placement:
    found = placement(blocks, split, devices)
    assert isinstance(found, Placement), found
    return found


def counts(found: Placement) -> dict[int, int]:
    """How many layers each device has, the output among them."""
    every = (*found.blocks, found.output)
    return {at: every.count(at) for at in sorted(set(every))}


def test_one_card_has_every_block_and_none_means_the_host() -> None:
    assert placed(3, Split(), cards(24)) == Placement((0, 0, 0), 0)
    assert placed(3, Split(), []) == Placement((HOST, HOST, HOST), HOST)
    assert placed(3, Split(), []).used == ()


@pytest.mark.parametrize(
    ("ratios", "blocks", "layers"),
    [
        ((0.49, 0.51), 48, {0: 25, 1: 24}),  # more on the card that was to get less
        ((1, 1), 3, {0: 2, 1: 2}),
        ((1, 1), 4, {0: 3, 1: 2}),
        ((3, 1), 7, {0: 6, 1: 2}),
        ((1, 0), 4, {0: 5}),
        ((0, 1), 4, {1: 5}),
        ((1,), 4, {0: 5}),
        ((2, 1, 9), 8, {0: 6, 1: 3}),
    ],
)
def test_a_layer_is_never_cut(ratios: tuple[float, ...], blocks: int, layers: dict[int, int]) -> None:
    found = placed(blocks, Split(ratios=ratios), cards(16, 16))
    assert counts(found) == layers
    assert list(found.blocks) == sorted(found.blocks), "the first blocks are on the first card"


def test_without_ratios_a_model_is_split_by_what_is_left_of_each_card() -> None:
    assert counts(placed(8, Split(), cards(24, 12))) == {0: 6, 1: 3}
    assert counts(placed(8, Split(ratios=(0, 0)), cards(24, 12))) == {0: 6, 1: 3}
    uneven = [*cards(24, reserve=12), Device("CUDA1", 1, "B", 12 * GIB, 0)]
    assert counts(placed(9, Split(), uneven)) == {0: 5, 1: 5}


def test_cards_of_unknown_size_are_split_evenly_where_they_are_alike_and_not_placed_where_not() -> None:
    assert counts(placed(9, Split(), cards(None, None))) == {0: 5, 1: 5}
    assert counts(placed(9, Split(ratios=(1, 1)), cards(None, None, model=None))) == {0: 5, 1: 5}
    for devices in (cards(None, None, model=None), cards(24, None)):
        found = placement(9, Split(), devices)
        assert isinstance(found, Unplaced)
        assert "nobody says how much memory CUDA" in found.reason


def test_fewer_layers_than_there_are_leave_the_first_blocks_on_the_host() -> None:
    assert placed(4, Split(layers=3), cards(24)) == Placement((HOST, HOST, 0, 0), 0)
    assert placed(4, Split(layers=1), cards(24)) == Placement((HOST,) * 4, 0)
    assert placed(4, Split(layers=0), cards(24)) == Placement((HOST,) * 4, HOST)
    assert placed(4, Split(layers=99), cards(24)) == placed(4, Split(), cards(24))
    assert counts(placed(9, Split(layers=6, ratios=(1, 1)), cards(24, 24))) == {HOST: 4, 0: 3, 1: 3}


def test_a_model_that_is_not_split_is_on_the_main_card() -> None:
    assert counts(placed(4, Split(mode="none", main=1), cards(24, 24))) == {1: 5}
    assert counts(placed(4, Split(mode="none", main=-1), cards(24, 24))) == {HOST: 5}


def test_rows_are_spread_over_all_cards_and_caches_are_not() -> None:
    found = placed(3, Split(mode="row", ratios=(3, 1)), cards(24, 24))
    assert list(found.spread(found.block(0), 400)) == [(0, 300), (1, 100)]
    assert list(found.spread(found.block(0), 400, cache=True)) == [(0, 400)]
    assert list(found.spread(HOST, 400)) == [(HOST, 400)]
    assert placed(3, Split(mode="row"), cards(24, 8)).fractions == (0.75, 0.25)


def test_tensors_are_spread_evenly_where_nobody_says_otherwise_with_their_caches() -> None:
    found = placed(3, Split(mode="tensor"), cards(24, None))
    assert list(found.spread(found.block(0), 400, cache=True)) == [(0, 200), (1, 200)]
    assert found.used == (0, 1)


def test_a_block_beyond_the_models_own_goes_with_the_output() -> None:
    assert placed(2, Split(ratios=(1, 1)), cards(24, 24)).block(7) == 1


def test_nothing_is_placed_on_a_card_that_nobody_knows_or_where_the_server_decides() -> None:
    assert isinstance(laid(2, Split(), [Device("CUDA7", UNSEEN, None, None, 0)], fitted=False), Unplaced)
    assert isinstance(laid(2, Split(), cards(24), fitted=True), Unplaced)
    assert isinstance(laid(2, Split(), [], fitted=True), Laid)


def test_cards_work_in_turn_where_each_layer_is_on_one_of_several() -> None:
    for split, devices, expected in (
        (Split(), cards(24, 24), True),
        (Split(), cards(24), False),
        (Split(layers=3), cards(24, 24), False),
        (Split(mode="row"), cards(24, 24), False),
    ):
        found = laid(8, split, devices, fitted=False)
        assert isinstance(found, Laid)
        assert in_turn(split, found) is expected, (split, devices)
