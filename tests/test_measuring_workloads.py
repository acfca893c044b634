"""Which texts servers that run already may be asked."""

from dataclasses import replace
from pathlib import Path

import pytest

from quadgen.cli import measuring_workloads
from quadgen.cli.measuring_asked import Asked
from quadgen.cli.measuring_values import Subject
from quadgen.evidence import Setting
from quadgen.problems import Rejected
from test_measuring_key import REQUEST, SUBJECT

NOTHING = Setting.of(())


def running(candidate: Setting, comparator: Setting = NOTHING) -> Subject:
    """Two servers that run already."""
    request = replace(REQUEST, setting=candidate, against=comparator)
    return replace(SUBJECT, launches=None, decides=False, request=request)


def refused(subject: Subject, asked: Asked) -> str:
    with pytest.raises(Rejected) as caught:
        measuring_workloads.chosen(asked, subject)
    (problem,) = caught.value.problems
    assert problem.code == "repeated-texts"
    return problem.message


@pytest.mark.parametrize(
    "subject",
    [running(Setting.of(("draft-mtp", "ngram-mod"))), running(Setting.of(("draft-mtp",)), Setting.of(("ngram-mod",)))],
    ids=["candidate", "comparator"],
)
def test_a_text_is_not_asked_twice_of_a_server_that_remembers_it(subject: Subject) -> None:
    assert refused(subject, Asked(workloads=("copy",))) == (
        "copy has 3 texts for 14 rounds, and what ngram-mod kept of a text counts when it comes again"
    )


def test_a_text_is_asked_again_where_nothing_remembers_it_or_servers_are_started_anew() -> None:
    subject = running(Setting.of(("ngram-mod",)))
    asked = Asked(workloads=("copy",))
    assert measuring_workloads.chosen(asked, running(Setting.of(("draft-mtp", "ngram-simple"))))
    assert measuring_workloads.chosen(asked, replace(subject, launches=SUBJECT.launches))


def test_as_many_texts_as_rounds_are_enough_and_the_same_text_counts_once(tmp_path: Path) -> None:
    subject = running(Setting.of(("ngram-mod",)))
    file = tmp_path / "own.txt"
    asked = Asked(workloads=(f"chat={file}",), samples=3)
    file.write_text("\n---\n".join("abcdef"), encoding="utf-8")
    assert measuring_workloads.chosen(asked, subject)
    file.write_text("\n---\n".join("abcdea"), encoding="utf-8")
    assert refused(subject, asked).startswith("chat has 5 texts for 6 rounds, ")
    assert measuring_workloads.chosen(replace(asked, no_confirm=True), subject)
