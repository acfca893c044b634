"""A plan as Markdown: nothing that a fleet says is taken for markup, and a comment has room for it."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from quadgen.problems import Place, Problem
from quadgen.review.change import Detail, Difference, HostChange, Kind, Refusal, Review, ServiceChange, Side, Target
from quadgen.review.markdown import MOST, code, markdown, visible

HOSTILE = (
    "`", "``` ` ``", "@everyone", "| a | b |", "<img src=x onerror=alert(1)>", "</details>", "<!--", "](http://x)",
    "**b**", "# head\n- item", "\u202eabc", "\x1b[31m", "a\r\nb", " ", "\\`", "&lt;", "<summary>`</summary>", "a tick`",
)  # fmt: skip
MARKS = "`<>*_ @|\\&!-\n"
SAY = st.one_of(st.sampled_from(HOSTILE), st.text(min_size=1), st.text(alphabet=MARKS, min_size=1))


class Seen(HTMLParser):
    """The tags of a page, and the text that stands outside of code."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.inside = 0
        self.outside = ""
        self.codes: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert not attrs
        if tag == "code":
            self.inside += 1
            self.codes.append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside -= tag == "code"

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.codes[-1] += data
        else:
            self.outside += data


def seen(text: str) -> Seen:
    found = Seen()
    found.feed(MarkdownIt("commonmark", {"html": True}).render(text))
    return found


def service(say: str) -> ServiceChange:
    detail = Detail(
        program=Difference("program", (say,), (say, say)),
        arguments=(Difference(say, (say,), (f"x{say}",)),),
        environment=(Difference(say, (), (say,)),),
        mounts=Difference("mounts", (), (say,)),
        keys=(Difference(say, (say, "a"), ("a",)),),
        evidence=Difference("evidence", (), (say,)),
        notes=Difference("notes", (say,), ()),
    )
    return ServiceChange(
        kind=Kind.CHANGED, service=say, unit=say, restart=True, autostart=True, path=say, moved=say, about=say,
        detail=detail,
    )  # fmt: skip


def review(*hosts: HostChange, refusals: tuple[Refusal, ...] = (), say: str = "main") -> Review:
    side = Side(revision=say, commit="3f2a1bc09d7e0000", source="rendered")
    return Review(old=side, new=side, hosts=hosts, refusals=refusals, total=max(1, len(hosts)), notes=(say,))


def hostile(say: str) -> Review:
    host = HostChange(
        host=say, kind=Kind.CHANGED, services=(service(say),), needs=(("secrets", say), (say, say)), spares=()
    )
    place = Place(file=say, line=1, column=1)
    problem = Problem(code="unknown-key", message=say, notes=(say,), hint=f"{say}x", place=place)
    targets = (Target(say, say), Target(say, None))
    gone = HostChange(host=f"gone{say}", kind=Kind.REMOVED, services=(), needs=(), spares=())
    refusal = Refusal(problem=problem, targets=targets, fresh=targets, new=True)
    return review(host, gone, refusals=(refusal,), say=say)


@given(SAY)
def test_nothing_that_a_fleet_says_is_taken_for_markup(say: str) -> None:
    found = seen(markdown(hostile(say)))
    assert found.tags <= {"h3", "p", "strong", "code", "ul", "li", "details", "summary"}
    plain = seen(markdown(hostile("plain")))
    assert found.tags == plain.tags
    assert "@" not in found.outside
    assert len(found.codes) == len(plain.codes)


@given(SAY)
def test_a_value_is_shown_with_each_of_its_characters(say: str) -> None:
    (shown,) = seen(f"a {code(say)} b").codes
    assert shown.strip(" ") == visible(say).strip(" ")


@given(SAY)
def test_a_character_that_does_not_show_is_spelled(say: str) -> None:
    assert visible(say).isprintable()


def test_a_value_that_is_long_is_cut() -> None:
    assert re.fullmatch(r"`x{400}… \(1,000 characters, sha256 [0-9a-f]{12}…\)`", code("x" * 1000))


@given(st.text(alphabet="ab\n", max_size=3), st.text(alphabet="ab\n", max_size=3))
def test_values_that_differ_beyond_the_cut_do_not_read_alike(one: str, other: str) -> None:
    assert (code("x" * 400 + one) == code("x" * 400 + other)) is (one == other)


def many(number: int, lines: int) -> Review:
    hosts = []
    for position in range(number):
        arguments = tuple(Difference(f"--flag-{line}", (f"{position}",), ("é" * 300,)) for line in range(lines))
        change = ServiceChange(
            kind=Kind.CHANGED, service="chat", unit="chat.service", restart=True, autostart=True,
            path="etc/chat.container", moved=None, about="", detail=Detail(arguments=arguments),
        )  # fmt: skip
        hosts.append(HostChange(host=f"edge-{position}", kind=Kind.CHANGED, services=(change,), needs=(), spares=()))
    return review(*hosts)


@pytest.mark.parametrize(("number", "lines"), [(3000, 1), (30, 20), (1, 500), (5000, 0)])
def test_a_comment_keeps_within_its_bound_and_says_what_it_left_out(number: int, lines: int) -> None:
    text = markdown(many(number, lines))
    assert len(text.encode()) <= MOST
    heads = text.count("restarts on")
    cut = re.search(r"\*\*Left out: (\d+) changes?\*\*", text)
    groups = number if lines else 1  # changes without a line are all the same
    gone = int(cut[1]) if cut else 0
    assert heads + gone == groups
    assert "note: `main`" in text
    folded = sum(map(int, re.findall(r"\((\d+) lines? (?:is|are) left out\)", text)))
    assert text.count("- changed") + folded + gone * lines == number * lines


def test_what_was_left_out_is_counted_by_what_it_is() -> None:
    told = many(2000, 1)
    gone = tuple(
        HostChange(host=host.host, kind=Kind.CHANGED, services=(replace(host.services[0], kind=Kind.CREATED),),
                   needs=(), spares=())
        for host in many(40, 1).hosts
    )  # fmt: skip
    mistake = Problem(code="unknown-key", message="x" * 70_000, hint="h")
    refusal = Refusal(problem=mistake, targets=(), fresh=(), new=True)
    text = markdown(replace(told, hosts=(*told.hosts, *gone), refusals=(refusal, replace(refusal, new=False))))
    cut = re.search(r"\*\*Left out: (\d+) changes, 1 addition\*\*", text)
    assert cut is not None, text[-300:]
    assert text.count("❌") == 1
    assert text.count("restarts on") + int(cut[1]) == 2000


def test_a_long_list_has_to_be_opened() -> None:
    text = markdown(many(1, 20))
    shown, _, folded = text.partition("<details><summary>8 more</summary>\n\n")
    assert shown.count("- changed") == 12
    assert folded.count("- changed") == 8
    assert "\n</details>\n" in folded
    assert seen(text).tags >= {"details", "summary", "li"}
    assert "<details>" not in markdown(many(1, 13))


def test_signs_become_words_that_begin_no_list() -> None:
    text = markdown(hostile("x"))
    assert "- changed `x` `x` -> `xx`\n" in text
    assert "- added environment `x` `x`\n" in text
    assert not re.search(r"(?m)^- [-+~]", text)
