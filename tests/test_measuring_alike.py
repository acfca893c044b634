"""Whether what is measured is what the fleet says: program, flags, card, checkpoint."""

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from fleets import accepted, one
from made_facts import made
from quadgen.engines.flags import shipped_tables
from quadgen.measuring.alike import device, objections, same_card
from quadgen.measuring.machine import Machine
from quadgen.problems import Severity
from quadgen.resolution import Resolution

OPTIONS = shipped_tables()["b10724"].options
CARD = "NVIDIA GeForce RTX 3090"


def here(**changes: Any) -> Machine:
    """The machine that the fleets below speak of."""
    plain = Machine(
        version="0.4.0-dev (build 10715, commit abcdef123)", build="b10715", commit="abcdef123", fingerprint="f",
        devices=(CARD,), names=("CUDA0",), processor="AMD EPYC 7B13", options=OPTIONS,
    )  # fmt: skip
    return replace(plain, **changes)


@cache
def service(fields: str = "backend: cuda, gpus: [{name: NVIDIA GeForce RTX 3090}]") -> Resolution:
    """The only service of a fleet."""
    ((found,),) = accepted(one(f"{{model: plain, context: 4096, {fields}}}")).resolved.hosts.values()
    return found


def test_nothing_is_said_where_all_is_what_the_fleet_says() -> None:
    assert objections(service(), here()) == ()


def test_a_row_is_not_credited_to_another_build() -> None:
    (problem,) = objections(service(), here(build="b10434"))
    assert (problem.code, problem.severity, problem.host, problem.service) == (
        "other-build", Severity.ERROR, "claw", "llama-server",
    )  # fmt: skip
    assert problem.message == "the program says that it is b10434, and is to be measured as b10715"
    assert problem.hint == "measure b10715, or say b10434: as `build` of engines.cuda, or as --build"


def test_of_a_program_that_knows_no_number_it_is_said_that_nothing_proves_its_build() -> None:
    said = "0.1.0-dev (build 1, commit 7e4c0a9)"
    (problem,) = objections(service(), here(build=None, commit="7e4c0a9", version=said))
    assert (problem.code, problem.severity) == ("other-build", Severity.NOTE)
    assert problem.message == f"nothing proves that the program is b10715: it says: {said}"


def test_a_build_that_is_named_by_its_commit_is_proven_by_that() -> None:
    plain = service()
    named = replace(plain, engine=replace(plain.engine, build="7e4c0a9"))
    assert objections(named, here(build=None, commit="7e4c0a9ffe")) == ()
    (problem,) = objections(named, here(build="b10715", commit="abcdef123"))
    assert problem.severity is Severity.NOTE
    assert not objections(replace(plain, engine=replace(plain.engine, build=None)), here(build=None))


def test_flags_that_the_build_does_not_have_tell_a_fork() -> None:
    fewer = tuple(option for option in OPTIONS if option.canonical not in {"--rpc", "--ctx-size"})
    plain = service()
    sure = replace(plain, engine=replace(plain.engine, table_note=None))
    (problem,) = objections(sure, here(options=fewer))
    assert (problem.code, problem.severity) == ("other-build", Severity.NOTE)
    assert problem.message.endswith("it lacks --ctx-size")
    unsure = replace(plain, engine=replace(plain.engine, table_note="not exactly this build's"))
    assert objections(unsure, here(options=fewer)) == ()


CARDS = [
    ("NVIDIA GeForce RTX 3090", "NVIDIA GeForce RTX 3090", True),
    ("RTX 3090", "NVIDIA GeForce RTX 3090", True),
    ("geforce rtx3090", "NVIDIA GeForce RTX 3090", True),
    ("RTX 3090", "NVIDIA GeForce RTX 3090 Ti", False),
    ("RTX 4090", "NVIDIA GeForce RTX 4090 Laptop GPU", False),
    ("RTX 3090", "NVIDIA GeForce RTX 3080", False),
    ("AMD Radeon RX 7900 XTX", "AMD Radeon RX 7900 XTX (RADV NAVI31)", True),
    ("RX 7900 XT", "AMD Radeon RX 7900 XTX (RADV NAVI31)", False),
    ("Radeon RX 7900", "AMD Radeon RX 7900 XTX (RADV NAVI31)", False),
    ("Radeon 8060S", "AMD Radeon 8060S Graphics (RADV GFX1151)", True),
    ("Arc A770", "Intel(R) Arc(TM) A770 Graphics (DG2)", True),
    ("A100 80GB", "NVIDIA A100-SXM4-80GB", True),
    ("A100 40GB", "NVIDIA A100-SXM4-80GB", False),
    ("RTX 6000", "NVIDIA RTX 6000 Ada Generation", False),
    ("L40", "NVIDIA L40S", False),
    ("NVIDIA", "NVIDIA GeForce RTX 3090", True),
]


@pytest.mark.parametrize(("said", "told", "same"), CARDS)
def test_names_of_one_card_are_one_whatever_is_left_out_but_for_what_makes_another(
    said: str,
    told: str,
    same: bool,  # noqa: FBT001 - a row of the table
) -> None:
    assert same_card(said, told) is same
    assert same_card(told, said) is same


def test_another_card_is_another_machine() -> None:
    (problem,) = objections(service(), here(devices=("NVIDIA GeForce RTX 3080",)))
    assert (problem.code, problem.severity) == ("other-machine", Severity.ERROR)
    assert problem.message == f"the fleet says that CUDA0 is {CARD}, and the engine that it is NVIDIA GeForce RTX 3080"


def test_a_card_that_the_engine_does_not_find_is_another_machine_too() -> None:
    (problem,) = objections(service(), here(devices=(), names=()))
    assert problem.code == "other-machine"
    assert problem.message == "the engine finds no CUDA0 here; its devices are: none at all"


def test_a_fleet_that_names_no_card_contradicts_none() -> None:
    assert objections(service("backend: cuda"), here(devices=("whatever",))) == ()


def test_a_row_has_the_fleet_s_name_of_the_card_else_the_engine_s_and_on_cpu_the_processor_s() -> None:
    named = service("backend: cuda, gpus: [{name: RTX 3090}]")
    assert device(named, here()) == "RTX 3090"
    assert device(service("backend: cuda"), here()) == CARD
    two = service("backend: cuda, gpus: [{}, {}]")
    both = here(devices=(CARD, CARD), names=("CUDA0", "CUDA1"))
    assert device(two, both) == CARD
    assert device(two, replace(both, devices=(CARD, "NVIDIA T4"))) == f"{CARD} + NVIDIA T4"
    assert device(service("backend: cpu, engine: cpu"), here()) == "AMD EPYC 7B13"


def test_a_checkpoint_that_the_lock_does_not_record_is_another_model() -> None:
    plain = service()
    recorded = replace(plain, model=replace(plain.model, facts=made()))
    assert objections(recorded, here(), file=made()) == ()
    assert objections(plain, here(), file=made()) == ()
    (problem,) = objections(recorded, here(), file=made(header="cd" * 32, quantization="Q4_K_M"))
    assert (problem.code, problem.severity) == ("other-model", Severity.ERROR)
    assert problem.message == "the header of plain is not the one that the lock records: F16 there, Q4_K_M here"
