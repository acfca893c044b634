"""What going from one build to another does to a fleet: which flags break, where they stand, and whom that concerns."""

from dataclasses import replace
from typing import Any

import pytest

from fleets import ENGINES, Memory, accepted
from quadgen.engines.flags import FlagTable, Option, dump_table, shipped_tables
from quadgen.problems import Rejected
from quadgen.upgrade import Finding, Respelling, Service, Upgrade, upgrade

TABLES = shipped_tables()
OLD, NEW = TABLES["b10434"], TABLES["b11434"]
HOST = "backend: cpu, model: plain, context: 4096"


def fleet(above: str = "", **hosts: str) -> str:
    """Hosts with the same CPU engine, each with these fields."""
    rows = "".join(
        f"  {name}: {{{HOST}, engine: cpu{f', {fields}' if fields else ''}}}\n" for name, fields in hosts.items()
    )
    engines = ENGINES.replace("b10715", "b10434").replace("  old: {", "  new: {")
    return f"{engines}{above}hosts:\n{rows}"


def effect(text: str, before: FlagTable = OLD, after: FlagTable = NEW, **files: str) -> Upgrade:
    whole = {"fleet.yml": text.encode(), **{f"{name}.json": data.encode() for name, data in files.items()}}
    return upgrade("fleet.yml", Memory(whole), before, after)


def nothing(found: Upgrade) -> Upgrade:
    """An upgrade of the same engines that changes nothing."""
    return replace(found, broken=(), mended=(), respelled=(), refused=False, unrelated=0)


def told(findings: tuple[Finding, ...]) -> list[tuple[str, str | None, list[tuple[str, list[str]]]]]:
    """The code and the flag of each finding; then its places as the fleet file spells them, with their services."""
    return [
        (
            finding.problem.code,
            finding.flag,
            [
                (
                    place.text[place.column - 1 : place.column - 1 + place.length] if place else "",
                    [f"{host}/{service}" for host, service in services],
                )
                for place, services in finding.spots
            ],
        )
        for finding in findings
    ]


def table(*options: Option, build: str) -> FlagTable:
    """What b11434 knows, with other options in the place of those with the same name."""
    own = {option.canonical for option in options}
    return FlagTable(build=build, options=(*(one for one in NEW.options if one.canonical not in own), *options))


def option(name: str, **fields: Any) -> Option:
    known: dict[str, Any] = {"names": (name,), "section": "common", "arity": 0} | fields
    return Option(canonical=name, **known)


def test_a_flag_that_is_gone_breaks_the_hosts_that_say_it_and_no_other() -> None:
    found = effect(fleet(one="extra_args: [--no-mmap]", two="", three="extra_args: [--no-mmap]"))
    assert told(found.broken) == [
        ("removed-flag", "--no-mmap", [("--no-mmap", ["one/llama-server"]), ("--no-mmap", ["three/llama-server"])])
    ]
    (finding,) = found.broken
    assert finding.problem.message == "llama-server b11434 has no --no-mmap any more"
    assert "--load-mode" in (finding.problem.hint or "")
    assert (found.refused, found.unrelated, found.mended, found.respelled) == (True, 0, (), ())


def test_a_flag_of_a_group_stands_in_one_place_and_concerns_every_host_of_it() -> None:
    groups = "groups: {pinned: {extra_args: [--mlock]}}\n"
    text = fleet(groups, one="groups: [pinned]", two="groups: [pinned]", three="")
    assert told(effect(text).broken) == [
        ("removed-flag", "--mlock", [("--mlock", ["one/llama-server", "two/llama-server"])])
    ]


def test_each_service_of_a_host_is_named() -> None:
    said = "extra_args: [--mlock]"
    services = f"chat: {{port: 1024, {said}}}, code: {{port: 1025}}, embed: {{port: 1026, {said}}}"
    found = effect(fleet(one=f"services: {{{services}}}"))
    assert [services for _, _, spots in told(found.broken) for _, services in spots] == [["one/chat"], ["one/embed"]]


def test_settings_that_take_the_spelling_of_the_build_survive_it() -> None:
    found = effect(fleet(one="flags: {mmap: false, mlock: true}"))
    assert found == nothing(found)


def test_a_fleet_without_such_flags_has_nothing_to_fear() -> None:
    found = effect(fleet(one="", two="flags: {flash-attn: true}"))
    assert found == nothing(found)


def test_the_way_back_mends_what_the_way_forth_breaks_and_does_not_count_its_warnings() -> None:
    found = effect(fleet(one="extra_args: [--no-mmap]"), NEW, OLD)
    assert told(found.mended) == [("removed-flag", "--no-mmap", [("--no-mmap", ["one/llama-server"])])]
    assert (found.broken, found.refused) == ((), False)


def test_a_flag_that_becomes_deprecated_is_told_and_refuses_nothing() -> None:
    after = table(option("--jinja", negations=("--no-jinja",), deprecated="use --template"), build="b12000")
    found = effect(fleet(one="flags: {jinja: true}"), NEW, after)
    assert told(found.broken) == [("deprecated-flag", "--jinja", [("jinja", ["one/llama-server"])])]
    assert [(one.problem.message, one.problem.hint) for one in found.broken] == [
        ("llama-server b12000 deprecates --jinja", "use --template")
    ]
    assert not found.refused


def test_a_deprecation_of_both_builds_is_no_news() -> None:
    found = effect(fleet(one="extra_args: [--no-mmap]"), OLD, TABLES["b10705"])
    assert found == nothing(found)


def test_a_flag_that_neither_build_has_is_no_news_either_whatever_each_calls_it() -> None:
    gone = option("--zap", removed="use --zip")
    text = fleet(one="extra_args: [--zap]")
    for before, after in ((OLD, NEW), (NEW, table(gone, build="b12000")), (table(gone, build="b12000"), NEW)):
        found = effect(text, before, after)
        assert (found.broken, found.mended, found.refused, found.unrelated) == ((), (), True, 1)


def test_a_value_that_is_no_longer_allowed_breaks() -> None:
    after = table(option("--pooling", arity=1, values=("cls", "last")), build="b12000")
    found = effect(fleet(one="flags: {pooling: mean}", two="flags: {pooling: cls}"), NEW, after)
    assert told(found.broken) == [("bad-flag-value", "--pooling", [("mean", ["one/llama-server"])])]


def test_an_option_with_a_new_name_is_written_by_it_and_breaks_nothing() -> None:
    renamed = {"--slot-prompt-similarity": ("--slot-similarity", ("--slot-prompt-similarity", "--slot-similarity"))}
    options = tuple(
        replace(one, canonical=renamed[one.canonical][0], names=renamed[one.canonical][1])
        if one.canonical in renamed
        else one
        for one in NEW.options
    )
    text = fleet(one="flags: {slot-prompt-similarity: 0.5}", two="")
    found = effect(text, NEW, FlagTable(build="b12000", options=options))
    assert found.respelled == (
        Respelling(
            before=(("--slot-prompt-similarity", "0.5"),),
            after=(("--slot-similarity", "0.5"),),
            services=(Service("one", "llama-server"),),
        ),
    )
    assert (found.broken, found.refused) == ((), False)


def test_a_refusal_of_both_builds_is_counted_and_the_rest_is_still_compared() -> None:
    found = effect(fleet(one="port: 1024, extra_args: [--no-mmap]", two="profile: nothing"))
    assert told(found.broken) == [("removed-flag", "--no-mmap", [("--no-mmap", ["one/llama-server"])])]
    assert (found.refused, found.unrelated) == (True, 1)


def test_a_refusal_that_is_the_policy_s_counts_for_the_build_that_brings_it() -> None:
    text = (
        f"{ENGINES}policy: {{build: refuse}}\nhosts:\n"
        "  forge: {backend: cuda, engine: cuda, model: headed, profile: copy, context: 4096,"
        " gpus: [{name: NVIDIA GeForce RTX 3090}]}\n"
    )
    found = effect(text, replace(TABLES["b10705"], build="b10715"), NEW)
    assert [one.problem.code for one in found.broken] == ["stale-build"]
    assert found.refused


def test_an_engine_with_a_table_of_its_own_is_rebuilt_too() -> None:
    own = dump_table(table(option("--own"), build="my-fork"))
    build = "build: b10434, backends: [cpu]"
    text = fleet(one="extra_args: [--own]").replace(build, "build: my-fork, flags: own.json, backends: [cpu]")
    accepted(text, {"own.json": own})
    found = effect(text, table(option("--own"), build="my-fork"), NEW, own=own)
    assert told(found.broken) == [("unknown-flag", "--own", [("--own", ["one/llama-server"])])]


def test_an_environment_variable_is_named_as_such() -> None:
    after = table(option("--new", env="MY_OWN"), build="b12000")
    found = effect(fleet(one="env: {MY_OWN: text}"), NEW, after)
    assert [flag for _, flag, _ in told(found.broken)] == ["MY_OWN"]


def test_the_refusals_come_before_the_warnings_and_each_in_the_order_of_the_file() -> None:
    after = table(option("--jinja", negations=("--no-jinja",), deprecated="use --template"), build="b12000")
    mlock = "extra_args: [--mlock]"
    text = fleet(one="flags: {jinja: true}", two=mlock, three="extra_args: [--no-mmap]", four=mlock)
    found = effect(text, OLD, after)
    assert [flag for _, flag, _ in told(found.broken)] == ["--mlock", "--no-mmap", "--jinja"]


def test_a_file_that_is_no_yaml_is_refused_as_by_every_command() -> None:
    with pytest.raises(Rejected, match="yaml-syntax"):
        effect("hosts: [")


FORK = dump_table(FlagTable(build="my-fork", options=NEW.options))


def on(build: str, **engines: str) -> str:
    """One host for each engine, with the switch that b11434 has no more; an engine is given by its fields."""
    text = fleet().replace("b10434", build)
    head, models = text.split("models:\n", 1)
    own = "".join(
        f'  {name}: {{kind: llama.cpp, backends: [cpu], image: "i:1", {said}}}\n' for name, said in engines.items()
    )
    hosts = "".join(f"  {name}: {{{HOST}, engine: {name}, extra_args: [--mlock]}}\n" for name in ("cpu", *engines))
    return f"{head}{own}models:\n{models}{hosts}"


def hosts_of(found: Upgrade) -> set[str]:
    return {service.host for finding in found.broken for spot in finding.spots for service in spot.services}


def test_an_upgrade_touches_the_engines_that_are_on_the_old_build_and_no_others() -> None:
    text = on("b10434", newer="build: b10724", fork="build: my-fork, flags: fork.json", learned="flags: old.json")
    found = effect(text, fork=FORK, old=dump_table(OLD))
    assert found.stated
    assert set(found.engines) >= {"cpu", "learned"}
    assert not {"newer", "fork"} & set(found.engines)
    assert hosts_of(found) == {"cpu", "learned"}


def test_a_fork_that_refuses_a_flag_itself_is_no_news() -> None:
    found = effect(
        on("b11434", fork="build: b10705, flags: fork.json").replace("cpu, extra_args: [--mlock]", "cpu"), fork=FORK
    )
    assert (found.stated, hosts_of(found)) == (False, set())


@pytest.mark.parametrize("said", ["build: b10434, flags: new.json", "build: b11434, flags: old.json"])
def test_an_engine_is_on_the_old_build_by_what_it_says_and_by_the_table_that_it_learned(said: str) -> None:
    found = effect(on("b10724", mine=said), old=dump_table(OLD), new=dump_table(NEW))
    assert (found.stated, found.engines, hosts_of(found)) == (True, ("mine",), {"mine"})


def test_where_no_engine_is_on_the_old_build_all_without_a_table_of_their_own_are_taken_for_it() -> None:
    found = effect(on("b10724", fork="flags: fork.json"), fork=FORK)
    assert not found.stated
    assert "cpu" in found.engines
    assert "fork" not in found.engines
    assert hosts_of(found) == {"cpu"}
