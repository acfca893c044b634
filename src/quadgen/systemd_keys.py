"""The keys that systemd knows in the sections of a service unit, and which of them may stand several times.

systemd reads past a key that it does not know with no more than a line in its log, so a typo is a setting that
never was. The table is data/systemd-keys.json, which says where it comes from.
"""

import json
import pkgutil
from collections.abc import Mapping
from functools import cache
from typing import Final

SECTIONS: Final = ("Unit", "Service", "Install")


@cache
def _table() -> Mapping[str, Mapping[str, str]]:
    table: Mapping[str, Mapping[str, str]] = json.loads(pkgutil.get_data("quadgen", "data/systemd-keys.json") or b"{}")
    return table


def known(section: str, key: str) -> bool:
    """Whether some systemd from 252 to 262 takes `key` in `section`; names are case-sensitive.

    Keys that begin with `X-` are for whoever wants them: systemd.unit(5). Old names of keys count as known. Not
    known is what has moved to another section, such as `StartLimitBurst` in [Service], though it is still read.
    """
    return section in SECTIONS and (key in _table()[section] or key.startswith("X-"))


def repeats(section: str, key: str) -> bool:
    """Whether a further line of `key` adds to the lines before; False where it replaces them or is not known."""
    return section in SECTIONS and _table()[section].get(key) == "list"


def section_of(key: str) -> tuple[str, ...]:
    """Name the sections that `key` belongs to; empty where no section has it."""
    return tuple(section for section in SECTIONS if key in _table()[section])


def nearest(section: str, key: str) -> str | None:
    """Find the key of `section` that was probably meant, or None; another case alone is always near."""
    from difflib import get_close_matches  # noqa: PLC0415 - only a refusal needs it

    if section not in SECTIONS:
        return None
    offers = {offer.lower(): offer for offer in _table()[section]}
    asked = key.lower()
    near = [asked] if asked in offers else get_close_matches(asked, offers, n=1, cutoff=0.75)
    return offers[near[0]] if near else None
