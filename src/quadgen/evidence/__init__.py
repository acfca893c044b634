"""Measurements and what they allow: rows, ledgers, verdicts, and the words that quote them."""

from quadgen.evidence.ledger import Ledger
from quadgen.evidence.match import costs, floor_losses, verdict
from quadgen.evidence.quote import compact, comparison, cost, figures, loss, quoted, refusal_notes, where
from quadgen.evidence.request import Kind, Policy, Request, Verdict
from quadgen.evidence.row import Row
from quadgen.evidence.setting import NO_SPECULATION, Setting
from quadgen.evidence.shipped import read_ledger, shipped_rows

__all__ = [
    "NO_SPECULATION",
    "Kind",
    "Ledger",
    "Policy",
    "Request",
    "Row",
    "Setting",
    "Verdict",
    "compact",
    "comparison",
    "cost",
    "costs",
    "figures",
    "floor_losses",
    "loss",
    "quoted",
    "read_ledger",
    "refusal_notes",
    "shipped_rows",
    "verdict",
    "where",
]
