"""What `quadgen measure` says that the gate does next, against what a render does."""

from dataclasses import replace
from pathlib import Path

import pytest

from quadgen.cli import measuring_next, work
from quadgen.cli.measuring_values import Next, Prepared, Subject
from quadgen.evidence import Row
from quadgen.evidence.text import appended
from quadgen.measuring.arms import arms
from quadgen.measuring.launch import Launch
from quadgen.measuring.sample import Clock
from quadgen.sampling.opening import Started

FLEET = """\
version: 1
engines:
  cpu: {kind: llama.cpp, build: b11434, backends: [cpu], binary: /opt/llama-server}
models:
  small: {file: small-Q8_0.gguf, id: small, mtp: false}
profiles:
  mapped: {summary: n-grams of the prompt, spec_types: [ngram-map-k], workload: copy, against: none}
  told: {summary: n-grams of the prompt, spec_types: [ngram-map-k], workload: prose, against: none}
hosts:
  claw:
    {backend: cpu, runtime: systemd, model: small, context: 512, services: {a: {profile: mapped}, b: OTHER}}
"""


def said(fleet: Path, *, quantization: str = "Q8_0", ratio: float = 2.0) -> Next:
    """What is said of claw/a, once a row of a file that says so of itself is recorded."""
    compiled = work.compiled(str(fleet), ["claw"], about="claw")
    both = arms(compiled, "claw", "a", "mapped")
    of_file = replace(both.request, header="ab", quantization=quantization)
    row = Row(
        id="a", engine="llama.cpp", build="b11434", backend="cpu", device="EPYC", model="small", header="ab",
        quantization=quantization, workload="copy", setting=of_file.setting, against=of_file.against, ratio=ratio,
        samples=7, source="a test",
    )  # fmt: skip
    ledger = fleet.parent / "measurements" / "claw.yml"
    ledger.parent.mkdir()
    ledger.write_bytes(appended("claw.yml", None, (row,)))
    launch = Launch(program="/opt/llama-server", arguments=())
    subject = Subject(
        what="claw/a", profile="mapped", against="none", floor=False, own="copy", decides=True, request=of_file,
        launches=(launch, launch), clock=Clock.CPU, context=512, carries=True, comparator_carries=False,
        program="llama-server", build="b11434", commit=None, fingerprint=None, device="EPYC", comparator_drafts=False,
    )  # fmt: skip
    source = Started(launch=launch, environ={})
    ready = Prepared(
        subject=subject, candidate=source, comparator=source, min_gain=1.0, name="claw", host="claw", place="claw/a",
        asks=True, taken=frozenset(), compiled=compiled,
    )  # fmt: skip
    found = measuring_next.asked_again(ready)
    assert found is not None
    refused = any(each.service == "a" and each.severity == "error" for each in work.compiled(str(fleet), None).reported)
    assert found.granted is not refused, "what is said is what a render does"
    return found


@pytest.fixture(name="fleet")
def _fleet(tmp_path: Path) -> Path:
    path = tmp_path / "my fleet.yml"
    path.write_text(FLEET.replace("OTHER", "{profile: none, port: 8081}"))
    return path


def test_a_win_is_granted_with_its_row(fleet: Path) -> None:
    assert said(fleet).said.startswith("grants mapped to claw/a: ngram-map-k against none: 2.00x on copy")


def test_a_loss_is_refused_with_its_row(fleet: Path) -> None:
    assert said(fleet, ratio=0.9).said.startswith("refuses mapped for claw/a: ngram-map-k against none: 0.90x")


def test_a_row_of_a_file_that_is_another_than_its_name_says_grants_nothing(fleet: Path) -> None:
    assert said(fleet, quantization="Q4_0").said == "refuses mapped for claw/a: no row is evidence of it"


def test_a_service_beside_it_that_lacks_a_number_is_not_passed_over(fleet: Path) -> None:
    fleet.write_text(FLEET.replace("OTHER", "{profile: told, port: 8081}"))
    found = said(fleet)
    assert found.granted
    assert found.said.endswith(f"; claw is refused for something else, which `quadgen check '{fleet}'` shows")


def test_a_profile_that_another_host_has_too_is_no_other_refusal(fleet: Path) -> None:
    text = FLEET.replace("services: {a: {profile: mapped}, b: OTHER}", "services: {a: {}}")
    text = text.replace("hosts:", "defaults: {profile: mapped}\nhosts:")
    fleet.write_text(f"{text}  other: {{backend: cpu, runtime: systemd, model: small, context: 512}}\n")
    assert "something else" not in said(fleet, ratio=0.9).said
