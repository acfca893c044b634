"""What the real llama-server says of itself, and whether it is what a fleet says."""

import pytest

from fetch_llama import BUILD
from fleets import accepted
from parts import llama_server
from quadgen.engines.flags import COMPILED_IN, shipped_tables
from quadgen.measuring.alike import device, objections
from quadgen.measuring.launch import Launch
from quadgen.measuring.machine import Machine, flags_fingerprint
from quadgen.problems import Severity
from quadgen.resolution import Resolution
from quadgen.sampling.machine import machine, processor


@pytest.fixture(name="told", scope="module")
def _told() -> Machine:
    return machine(Launch(program=str(llama_server()), arguments=()), environ={})


def service(build: str) -> Resolution:
    """The service of a fleet whose engine is of a build."""
    fleet = f"""version: 1
engines:
  cpu: {{kind: llama.cpp, build: {build}, backends: [cpu], binary: /opt/llama-server}}
models:
  plain: {{file: plain.gguf, mtp: false}}
hosts:
  claw: {{runtime: systemd, backend: cpu, model: plain, context: 4096}}
"""
    ((found,),) = accepted(fleet).resolved.hosts.values()
    return found


def test_it_says_its_build_and_takes_the_flags_that_the_shipped_table_of_that_build_has(told: Machine) -> None:
    table = shipped_tables()[BUILD].options
    assert told.build == BUILD
    assert {option.canonical for option in told.options} ^ {option.canonical for option in table} <= COMPILED_IN
    assert told.fingerprint == flags_fingerprint(table)
    assert (told.devices, told.names, told.image) == ((), (), None)


def test_it_is_what_a_fleet_of_its_build_says_and_nothing_else(told: Machine) -> None:
    assert objections(service(BUILD), told) == ()
    assert device(service(BUILD), told) == processor({})
    (problem,) = objections(service("b10434"), told)
    assert (problem.code, problem.severity) == ("other-build", Severity.ERROR)
