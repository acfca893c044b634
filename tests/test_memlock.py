"""A model that shall be locked in memory: the limit that this takes, and a user who may not."""

import subprocess

import pytest

from fleets import CPU, accepted, one, unit, units, values

OLD = "{model: plain, backend: cpu, engine: old, context: 4096"


@pytest.mark.parametrize(
    "fields",
    [
        f"{CPU}, flags: {{mlock: true}}}}",
        f"{CPU}, flags: {{load-mode: mmap+mlock}}}}",
        f"{CPU}, extra_args: [-lm, mlock]}}",
        f"{OLD}, extra_args: [--mlock]}}",
    ],
)
def test_a_service_that_locks_its_model_may_lock_all_of_it(fields: str) -> None:
    # llama-server warns and goes on where it may not, and the model is swapped out like any other
    assert values(unit(one(fields)), "Container", "Ulimit") == ["memlock=-1:-1"]
    native = unit(one(fields.replace("{model", "{runtime: systemd, model", 1)))
    assert values(native, "Service", "LimitMEMLOCK") == ["infinity"]


@pytest.mark.parametrize(
    "fields",
    [f"{CPU}}}", f"{CPU}, alias: mlock}}", f"{CPU}, flags: {{mlock: false}}}}", f"{CPU}, flags: {{load-mode: mmap}}}}"],
)
def test_a_service_that_locks_nothing_has_the_host_s_own_limit(fields: str) -> None:
    assert values(unit(one(fields)), "Container", "Ulimit") == []


def test_a_limit_of_the_fleet_wins() -> None:
    text = unit(one(f"{CPU}, flags: {{mlock: true}}, limits: {{memlock: 16GiB}}}}"))
    assert values(text, "Container", "Ulimit") == ["memlock=17179869184:17179869184"]


@pytest.mark.parametrize("runtime", ["podman", "systemd"])
def test_a_user_s_unit_ends_the_start_where_the_user_may_not_lock_memory(runtime: str) -> None:
    compiled = accepted(one(f"{CPU}, runtime: {runtime}, rootless: ada, flags: {{mlock: true}}}}"))
    (text,) = units(compiled).values()
    (check,) = [line for line in values(text, "Service", "ExecStartPre") if "ulimit" in line]
    assert b'"memlock": ["ada"]' in compiled.trees[0].manifest
    script = check.removeprefix('/bin/sh -c "').removesuffix('"').replace('\\"', '"').replace("$$", "$")
    for limit, status, said in (
        ("unlimited", 0, ""),
        ("8192", 1, "its user may not lock enough memory: set LimitMEMLOCK=infinity for user@.service\n"),
    ):
        stand_in = f"ulimit() {{ echo {limit}; }}\n{script}"
        done = subprocess.run(["/bin/sh", "-c", stand_in], capture_output=True, text=True, check=False, timeout=20)
        assert (done.returncode, done.stderr) == (status, said)
    system = accepted(one(f"{CPU}, runtime: {runtime}, flags: {{mlock: true}}}}"))
    assert "ulimit" not in next(iter(units(system).values()))
    assert b'"memlock": []' in system.trees[0].manifest
