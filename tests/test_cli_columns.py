"""Sentences and tables of `observe`, `triage`, `triage --project` and `agreement` on terminals of several widths."""

from pathlib import Path
from typing import Final

import pytest

from command import quadgen
from quadgen.cli import console
from quadgen.cli.columns import aligned, wrapped
from terminals import on_a_terminal

MAIN: Final = "import sys; from quadgen.cli import main; sys.argv[0] = 'quadgen'; main()"
WORDS: Final = (
    *(
        "triage",
        "--target-rate",
        "40",
        "--commit-per-round",
        "1",
        "--drafter",
        "ngram-cache",
        "--acceptance",
        "0.7-0.9",
    ),
    *("--verify-cost", "9:2.4", "--drafting-share", "0.2"),
)
PLACE: Final = "llamacpp:spec_decode_num_accepted_tokens_per_pos_total"
COUNTERS: Final = "".join(
    f"llamacpp:{name} {count}\n"
    for name, count in {
        "tokens_predicted_total": 224000, "tokens_predicted_seconds_total": 2000, "n_decode_total": 61000,
        "spec_decode_num_draft_tokens_total": 20000, "spec_decode_num_accepted_tokens_total": 16000,
        "spec_decode_num_drafts_total": 1000,
    }.items()
)  # fmt: skip
"""What /metrics answers, as far as it is read here."""


def test_triage_keeps_within_80_columns_and_breaks_no_word(tmp_path: Path) -> None:
    narrow = on_a_terminal("-c", MAIN, *WORDS, columns=80, cwd=tmp_path)
    wide = on_a_terminal("-c", MAIN, *WORDS, columns=200, cwd=tmp_path)
    assert max(map(len, narrow.splitlines())) <= 80
    assert max(map(len, wide.splitlines())) > 100
    assert narrow.split() == wide.split()
    assert "commit / rate" in " ".join(wide.split())


@pytest.mark.parametrize(("sizes", "gap"), [((20, 20, 20), 3), ((30, 30, 40), 2), ((34, 34, 34), 1), ((60, 60, 60), 1)])
def test_columns_stand_closer_where_there_is_less_room(sizes: tuple[int, ...], gap: int) -> None:
    assert list(aligned([["x" * size for size in sizes]])) == [" " * 6 + (" " * gap).join("x" * n for n in sizes)]


def test_no_word_is_broken_however_long_it_is() -> None:
    path = "/" + "a-b" * 50
    assert list(wrapped(f"from {path}")) == ["from", f"    {path}"]
    assert len(path) > console.width()


def test_words_stay_whole_where_they_are_given_as_such_and_what_is_hidden_shows() -> None:
    assert list(wrapped(["a b"] * 28, indent=2)) == [" ".join(["a b"] * 27), "  a b"]
    assert list(wrapped("  two\nlines  and\tmore")) == ["  two\\nlines  and\\tmore"]
    assert list(wrapped("")) == [""]


@pytest.mark.parametrize("columns", [80, 60])
def test_what_observe_says_fits_the_terminal_and_stays_the_same(columns: int, tmp_path: Path) -> None:
    shares = "".join(f'{PLACE}{{position="{at}"}} {900 - 7 * at}\n' for at in range(20))
    (tmp_path / "after.txt").write_text(f"{COUNTERS}{shares}", encoding="utf-8")
    (tmp_path / "before.txt").write_text(COUNTERS.replace("000\n", "\n"), encoding="utf-8")
    words = ["observe", "after.txt", "--since", "before.txt"]
    shown = on_a_terminal("-c", MAIN, *words, columns=columns, cwd=tmp_path)
    elsewhere = quadgen(*words, cwd=tmp_path).out
    assert max(map(len, shown.splitlines())) <= columns < max(map(len, elsewhere.splitlines())) <= 110
    for told in ("accepted by position, in total:", "0.774 (19),", "0.900 (1), 0.893 (2), "):
        assert (told in " ".join(shown.split())) is (told in " ".join(elsewhere.split()))
    assert not [line for line in shown.splitlines() if line.strip().startswith("(")]
