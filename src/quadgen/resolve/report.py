"""Reporting from inside one service: a code and a sentence, with the place of the field that caused it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from quadgen.fleet.layers import Chain
from quadgen.fleet.load import Fleet
from quadgen.problems import Collector, Problem, Severity


@dataclass(frozen=True, slots=True)
class Reporter:
    """Where the problems of one service of one host go, and how its fields are looked up."""

    fleet: Fleet
    collector: Collector
    chain: Chain
    host: str
    service: str | None

    def get(self, key: str, default: Any = None) -> Any:  # noqa: ANN401 - a field holds any YAML value
        """The settled value of a field."""
        return self.chain.fields.get(key, default)

    def broken(self, key: str) -> bool:
        """Whether some layer says `key` and was wrong, which is reported already."""
        return bool(self.fleet.broken) and any(self.fleet.is_broken((*layer.path, key)) for layer in self.chain.layers)

    def add(
        self,
        code: str,
        message: str,
        *keys: str | int,
        severity: Severity = Severity.ERROR,
        label: str = "",
        hint: str | None = None,
        notes: Iterable[str] = (),
        at_key: bool = False,
    ) -> None:
        """Report a problem at the layer that says the field `keys`; without keys, at the service itself."""
        self.collector.add(
            Problem(
                code=code,
                message=message,
                severity=severity,
                path=self.chain.origin(*keys) if keys else self.chain.layers[-1].path,
                at="key" if at_key or not keys or not self.chain.said(*keys) else "value",
                label=label,
                host=self.host,
                service=self.service,
                notes=tuple(notes),
                hint=hint,
            )
        )

    def elsewhere(self, problem: Problem) -> None:
        """Report what stands outside of the layers, such as at an engine, as a problem of this service."""
        self.collector.add(replace(problem, host=self.host, service=self.service))

    def warn(self, code: str, message: str, *keys: str | int, **more: Any) -> None:  # noqa: ANN401 - as `add`
        """Report what does not refuse the fleet."""
        self.add(code, message, *keys, severity=Severity.WARNING, **more)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` is most likely a slip of, or None."""
    from difflib import get_close_matches  # noqa: PLC0415 - only a refused fleet pays for it

    found = get_close_matches(word.casefold(), {name.casefold(): name for name in known}, n=1, cutoff=0.6)
    return next((name for name in known if name.casefold() == found[0]), None) if found else None


def unknown(what: str, word: str, known: Iterable[str]) -> tuple[str, str]:
    """The sentence and the hint for a name that nothing in the fleet has."""
    names = list(known)
    close = nearest(word, names)
    hint = (
        f"did you mean {close}?" if close else (f"known: {', '.join(names)}" if names else f"there are no {what}s yet")
    )
    return f"there is no {what} named {word}", hint
