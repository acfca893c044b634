"""What the services of a host need together: those that never run at the same time are not added up."""

from collections.abc import Mapping

import pytest

from fleets import ENGINES, accepted, refusal


def host(sizes: Mapping[str, int], conflicts: Mapping[str, str], *, memory: int) -> str:
    """A fleet of one host: services with the size of their models in GiB, and what each conflicts with."""
    models = "".join(f"  {name}: {{file: {name}.gguf, mtp: false, size: {size}GiB}}\n" for name, size in sizes.items())
    services = "".join(
        f"      {name}: {{model: {name}, port: {8080 + position}"
        f"{f', conflicts: [{conflicts[name]}]' if name in conflicts else ''}}}\n"
        for position, name in enumerate(sizes)
    )
    fields = "{backend: cpu, engine: cpu, profile: none, context: 4096"
    return f"{ENGINES}{models}defaults: {fields}}}\nhosts:\n  box:\n    memory: {memory}GiB\n    services:\n{services}"


@pytest.mark.parametrize(
    ("sizes", "conflicts", "needed"),
    [
        ({"a": 3, "b": 4}, {}, 7),
        ({"a": 3, "b": 4}, {"a": "b"}, 4),
        ({"a": 3, "b": 4}, {"b": "a"}, 4),
        ({"a": 3, "b": 5, "c": 3}, {"b": "a, c"}, 6),
        ({"a": 3, "b": 7, "c": 3}, {"b": "a, c"}, 7),
        ({"a": 3, "b": 4, "c": 5, "d": 1}, {"a": "b, c", "b": "c"}, 6),
        ({"a": 4, "b": 5, "c": 4, "d": 5, "e": 6}, {"a": "b", "b": "c", "c": "d", "d": "e", "e": "a"}, 11),
    ],
)
def test_a_host_needs_what_those_need_that_may_run_at_the_same_time(
    sizes: dict[str, int], conflicts: dict[str, str], needed: int
) -> None:
    accepted(host(sizes, conflicts, memory=needed))
    problem = refusal(host(sizes, conflicts, memory=needed - 1))
    assert problem.code == "does-not-fit"
    assert problem.message == f"box has {needed - 1}.0 GiB of memory, and its services need at least {needed}.0 GiB"


def test_a_host_that_swaps_many_models_in_pairs_is_worked_out_without_trying_all_of_them() -> None:
    sizes = {f"s{number}": 2 + number % 2 for number in range(60)}
    conflicts = {f"s{number}": f"s{number + 1}" for number in range(0, 60, 2)}
    accepted(host(sizes, conflicts, memory=90))
    assert "need at least 90.0 GiB" in refusal(host(sizes, conflicts, memory=89)).message
