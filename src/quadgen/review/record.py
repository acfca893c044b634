"""A review as JSON: everything, host by host."""

from collections.abc import Iterable
from typing import Any

from quadgen.problems import Problem
from quadgen.review.change import Difference, HostChange, Refusal, Review, ServiceChange, Side, Target


def record(review: Review) -> dict[str, Any]:
    """The document that docs/commands.md describes."""
    return {
        "from": _side(review.old),
        "to": _side(review.new),
        "summary": dict(review.summary),
        "hosts": [_host(host) for host in review.hosts],
        "refused": [_refusal(refusal) for refusal in review.refusals],
        "notes": list(review.notes),
    }


def _side(side: Side) -> dict[str, Any]:
    return {"revision": side.revision, "commit": side.commit, "source": side.source}


def _host(host: HostChange) -> dict[str, Any]:
    return {
        "host": host.host,
        "change": host.kind.value,
        "services": [_service(service) for service in host.services],
        "needs": [_need(*need) for need in host.needs],
        "spares": [_need(*need) for need in host.spares],
    }


def _need(kind: str, value: str) -> dict[str, str]:
    return {"kind": kind, "value": value}


def _service(change: ServiceChange) -> dict[str, Any]:
    detail = change.detail
    return {
        "service": change.service,
        "change": change.kind.value,
        "unit": change.unit,
        "file": change.path,
        "moved_from": change.moved,
        "restart": change.restart,
        "autostart": change.autostart,
        "about": change.about,
        "about_before": None if detail.about is None else detail.about.old[0],
        "program": _difference(detail.program),
        "arguments": _named(detail.arguments),
        "environment": _named(detail.environment),
        "mounts": _difference(detail.mounts),
        "keys": _named(detail.keys),
        "evidence": _difference(detail.evidence),
        "comments": _difference(detail.notes),
        "compared": not detail.unread,
    }


def _named(differences: Iterable[Difference]) -> list[dict[str, Any]]:
    return [{"name": each.name, "old": list(each.old), "new": list(each.new)} for each in differences]


def _difference(difference: Difference | None) -> dict[str, list[str]] | None:
    return None if difference is None else {"old": list(difference.old), "new": list(difference.new)}


def _refusal(refusal: Refusal) -> dict[str, Any]:
    return {
        "new": refusal.new,
        **_problem(refusal.problem),
        "services": [_target(each) for each in refusal.targets],
        "newly": [_target(each) for each in refusal.fresh],
    }


def _problem(problem: Problem) -> dict[str, Any]:
    place = problem.place
    return {
        "code": problem.code,
        "message": problem.message,
        "file": place.file if place else None,
        "line": place.line if place else None,
        "column": place.column if place else None,
        "notes": list(problem.notes),
        "hint": problem.hint,
    }


def _target(target: Target) -> dict[str, str | None]:
    return {"host": target.host, "service": target.service}
