"""A review as text for a terminal or a log."""

from collections.abc import Iterator

from quadgen.review.change import Review
from quadgen.review.words import heading, paragraphs, plain, summary


def lines(review: Review) -> Iterator[str]:
    """From where to where, a paragraph for each thing that happens, and how much of everything at the end.

    Characters that do not show are still in it.
    """
    yield plain(heading(review))
    for paragraph in paragraphs(review):
        yield ""
        yield f"{paragraph.sign} {plain(paragraph.head)}".lstrip()
        yield from (f"    {plain(line)}" for line in paragraph.lines)
    yield ""
    yield summary(review)
