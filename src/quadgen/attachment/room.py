"""What a drafter takes of the host's memory and of its cards, and whether that is free."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from quadgen.attachment.deciding import Outcome
from quadgen.engines.registry import ENGINES
from quadgen.facts.amounts import amount
from quadgen.resolution import Resolution, Share
from quadgen.resolve.clashes import apart
from quadgen.resolve.memory import Pool, Shares, counted, need, pools

_HOST: Final = None
"""The place of a share in the host's own memory."""
UNRECORDED: Final = "no facts are recorded of "
Answer = tuple[bool | None, str]
"""Whether it fits, None where nobody knows, and a sentence."""
Company = tuple[Sequence[Resolution], Shares]
"""Services that run at the same time, and what each takes by its name."""


def unrecorded(model: str) -> str:
    """The end of a sentence about what nobody knows."""
    return f"{UNRECORDED}{model}, which quadgen lock does"


def room(plain: Outcome, drafting: Outcome) -> Iterator[Answer]:
    """Compare a service without and with a drafter; nothing where either was refused."""
    before, after = plain.resolution, drafting.resolution
    if before is None or after is None:
        return
    recorded = after.model.facts is not None or ENGINES[after.engine.kind].own_head
    if not after.memory or not recorded:
        yield None, f"what it takes nobody can say: {unrecorded(after.model.name)}"
        return
    same = before.reckon(after.context) if before.elastic else before.memory
    for name in plain.refused:
        yield None, f"what {name} takes nobody can say, since it is refused itself"
    unknown = [*_unknown(same, after)]
    yield from unknown
    more = {place: _size(after, after.memory, drafting, place) - _size(before, same, plain, place)
            for place in dict.fromkeys(share.card for share in chain(same, after.memory))}  # fmt: skip
    limits = {pool.position: pool for pool in pools(after.host)}
    company = _company(after, same, drafting)
    for place, size in more.items():
        if size > 0:
            yield _answer(place, size, limits.get(place), company)
    if not unknown and all(size <= 0 for size in more.values()):
        yield True, "it takes no more memory than the service does without it"
    yield from _shorter(plain, drafting)


def _unknown(same: tuple[Share, ...], after: Resolution) -> Iterator[Answer]:
    known = {(share.what, share.missing) for share in same}
    for share in after.memory:
        if share.missing is not None and (share.what, share.missing) not in known:
            yield None, f"{share.what}: {share.missing}"


def _size(service: Resolution, shares: tuple[Share, ...], outcome: Outcome, place: int | None) -> int:
    """Bytes from the start in one place, as far as they count there."""
    return sum(each.size for each in shares if each.card == place and counted(service, each, outcome.services))


def _answer(place: int | None, size: int, pool: Pool | None, company: Company) -> Answer:
    where = "the host's memory" if place is _HOST else f"card {place}"
    if pool is None:
        field = "`memory` of the host" if place is _HOST else "`vram` of its entry in `gpus`"
        return None, f"it takes {amount(size)} more of {where}, and nobody says how much there is: {field}"
    free = pool.room - need(pool, *company).size
    return size <= free, f"it takes {amount(size)} more of {where}, where {amount(max(0, free))} are free without it"


def _company(after: Resolution, same: tuple[Share, ...], drafting: Outcome) -> Company:
    """Who may run beside the service, and what each takes then: the service itself without the drafter."""
    beside = [each for each in drafting.services if each.name == after.name or not apart(after, each)]
    return beside, {each.name: each.memory for each in beside} | {after.name: same}


def _shorter(plain: Outcome, drafting: Outcome) -> Iterator[Answer]:
    """Contexts that nobody said, and that give way to a drafter."""
    contexts = {each.name: each.context for each in plain.services}
    for each in drafting.services:
        before = contexts.get(each.name, each.context)
        if each.context < before:
            yield True, f"the context of {each.name} gives way to it: {each.context} tokens instead of {before}"
