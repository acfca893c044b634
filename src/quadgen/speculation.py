"""Speculation profiles: named settings, what each must beat, and where that was measured.

It is a table and not a flag because the verdicts invert between backends. `default` and `none` are floors:
they are allowed everywhere. Any other name is a request, and one that no measurement supports is refused with
the numbers that say so. The numbers themselves live in the shipped ledgers; `COPY` and `PROFILES` are worked
out from them when first asked for, so that importing this module reads no file.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from quadgen.evidence.ledger import Ledger
from quadgen.evidence.match import verdict
from quadgen.evidence.quote import figures, losing_groups
from quadgen.evidence.request import Kind, Policy, Request
from quadgen.evidence.setting import Setting
from quadgen.evidence.shipped import shipped_rows
from quadgen.problems import Collector

__all__ = [
    "BUILTIN",
    "COPY",
    "DEFAULT",
    "PROFILES",
    "Profile",
    "ProfileSpec",
    "Unavailable",
    "UnknownProfile",
    "names",
    "resolve",
]


class Unavailable(Exception):  # noqa: N818 - it is a verdict, and the name is part of the interface
    """No measurement says that a profile wins on a backend; the text carries those that say what happens."""


class UnknownProfile(Unavailable, ValueError):  # noqa: N818 - as above
    """There is no profile of that name; the text lists those that exist."""


@dataclass(frozen=True)
class Profile:
    """One speculation setting as seen from outside, and the backends where it is allowed."""

    name: str
    spec_types: tuple[str, ...]
    """--spec-type, comma-joined; empty means no speculation at all."""
    draft_n_max: int | None
    """--spec-draft-n-max; None leaves the engine's own default, which is a decision and not an omission."""
    backends: frozenset[str] | None
    """Backends on which it was measured to win; None, of floors only, means anywhere."""
    summary: str
    """One line for help texts."""
    elsewhere: str = ""
    """Why it is refused elsewhere, in measured numbers; empty for a floor."""
    needs_mtp: bool = False
    """Whether it means anything only with an MTP head."""

    def allowed_on(self, backend: str) -> bool:
        """Whether it may be used on `backend`: cuda, rocm, vulkan, sycl or cpu."""
        return self.backends is None or backend in self.backends


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSpec:
    """A profile's definition, without any evidence; a fleet's own profiles have the same shape."""

    name: str
    summary: str
    spec_types: tuple[str, ...]
    """In the order in which the engine receives them."""
    draft_n_max: int | None
    flags: tuple[tuple[str, Any], ...]
    """Further --spec-* flags without their dashes, with their values as the fleet has them."""
    draft_model: str | None
    """A key of the fleet's models."""
    workload: str | None
    """On which it must win; None of floors only."""
    against: str
    """The profile that it must beat there."""
    needs_mtp: bool
    floor: bool
    """Allowed everywhere, and degrades instead of being refused."""

    def setting(self, draft_model: str | None = None) -> Setting:
        """Take the part that is measured; `draft_model` is the drafter's `id`, where it has one."""
        return Setting.of(
            self.spec_types,
            draft_n_max=self.draft_n_max,
            flags=dict(self.flags),
            draft_model=draft_model,
        )


_COPY: Final = ProfileSpec(
    name="copy",
    summary="MTP plus prompt lookup at draft width 7, for copy-heavy work",
    spec_types=("draft-mtp", "ngram-cache"),
    draft_n_max=7,
    flags=(),
    draft_model=None,
    workload="copy",
    against="default",
    needs_mtp=True,
    floor=False,
)
_DEFAULT: Final = ProfileSpec(
    name="default",
    summary="multi-token prediction, at the engine's own draft width",
    spec_types=("draft-mtp",),
    draft_n_max=None,
    flags=(),
    draft_model=None,
    workload=None,
    against="none",
    needs_mtp=False,
    floor=True,
)
_NONE: Final = ProfileSpec(
    name="none",
    summary="no speculation at all",
    spec_types=(),
    draft_n_max=None,
    flags=(),
    draft_model=None,
    workload=None,
    against="none",
    needs_mtp=False,
    floor=True,
)

BUILTIN: Final[Mapping[str, ProfileSpec]] = MappingProxyType({spec.name: spec for spec in (_COPY, _DEFAULT, _NONE)})
"""The profiles that every fleet has, in the order in which they are listed."""


@cache
def _shipped() -> Ledger:
    collector = Collector()
    ledger = Ledger.of(shipped_rows(), collector=collector)
    collector.check()
    return ledger


def _asked(spec: ProfileSpec, backend: str) -> Request:
    """Ask of `spec` on a backend in general: whatever the model, on any build and card."""
    return Request(
        engine="llama.cpp",
        build=None,
        backend=backend,
        devices=(),
        model="",
        header=None,
        setting=spec.setting(),
        against=BUILTIN[spec.against].setting(),
        default=_DEFAULT.setting(),
        workload=spec.workload or "",
        policy=Policy(evidence="backend"),
    )


def _elsewhere(spec: ProfileSpec, backend: str) -> str:
    """Say why `spec` is refused on `backend`, from the rows that lose there; empty where none does."""
    groups = losing_groups(_asked(spec, backend), _shipped())
    if not groups:
        return ""
    rows = [row for group in groups for row in group.rows]
    models = " and ".join(dict.fromkeys(f"{row.model} at {row.build}" for row in rows))
    lessons = ",\n  ".join(group.lesson() for group in groups)
    return f"On {backend} its parts lose, measured on {models}:\n  {lessons}."


@cache
def _profile(name: str) -> Profile:
    spec = BUILTIN[name]
    backends, reasons = None, ""
    if not spec.floor:
        measured = sorted({row.backend for row in _shipped().rows})
        wins = [each for each in measured if verdict(_asked(spec, each), _shipped()).kind is Kind.WINS]
        backends = frozenset(wins)
        reasons = "\n".join(filter(None, (_elsewhere(spec, each) for each in measured if each not in backends)))
    return Profile(spec.name, spec.spec_types, spec.draft_n_max, backends, spec.summary, reasons, spec.needs_mtp)


@cache
def _profiles() -> Mapping[str, Profile]:
    return MappingProxyType({name: _profile(name) for name in BUILTIN})


DEFAULT: Final = _profile("default")
"""What a service gets when nobody asked for anything: MTP where the checkpoint has a head, else nothing."""

COPY: Profile
"""For a session that mostly reproduces its input: MTP and prompt lookup at a wider draft."""

PROFILES: Mapping[str, Profile]
"""Every built-in profile by name, in the order in which help texts list them."""


if not TYPE_CHECKING:  # a type checker would take any name for one of this module's

    def __getattr__(name: str) -> Profile | Mapping[str, Profile]:
        if name == "COPY":
            return _profile("copy")
        if name == "PROFILES":
            return _profiles()
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)


def names() -> str:
    """List the profile names, for a help text."""
    return ", ".join(BUILTIN)


def resolve(name: str | None, backend: str) -> Profile:
    """Find the profile called `name`, if it may be used on `backend`; None is the default, as everywhere.

    Raises `Unavailable`, with the measurements that say no and those that say where it wins, for a profile
    that no shipped measurement supports on this backend; `UnknownProfile` for a name that does not exist.
    """
    if name is None:
        return DEFAULT
    if name not in BUILTIN:
        raise UnknownProfile(f"there is no profile {name!r}; the profiles are {names()}")
    profile = _profile(name)
    if profile.allowed_on(backend):
        return profile
    raise Unavailable(_refusal(profile, backend))


def _refusal(profile: Profile, backend: str) -> str:
    spec = BUILTIN[profile.name]
    what = f"{profile.name} ({spec.setting().describe()})"
    wins = [
        f"It wins on {each}: {figures(row)} [{row.id}], on {row.model} at {row.build}."
        for each in sorted(profile.backends or ())
        for row in verdict(_asked(spec, each), _shipped()).rows[:1]
    ]
    head = f"no measurement says that {what} wins on {backend}"
    return "\n".join((head, *filter(None, (profile.elsewhere,)), *wins))
