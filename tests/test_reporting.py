"""What a run says of a whole fleet: everything at once, each mistake once, at the place where it was made."""

from pathlib import Path

import pytest

from command import quadgen
from fleets import CPU, ENGINES, compile_text, marked, one, problems, refusal, refusals, run, units
from hosts import snapshot
from quadgen.problems import Problem, Severity

TWENTY = """\
version: 1
measurements: [missing.yml]
engines:
  cpu: {kind: llama.cpp, build: b10715, backends: [cpu], image: "registry.lan/llama:b10715"}
  new: {kind: llama.cpp, build: b11434, backends: [vulkan], image: "registry.lan/llama:b11434"}
  cuda: {kind: llama.cpp, build: b10715, backends: [cuda], image: "registry.lan/llama-cuda:b10715"}
models:
  plain: {file: plain.gguf, mtp: false}
  headed: {file: headed.gguf, id: qwen3.8-27b, mtp: true}
  nowhere: {mtp: true}
profiles:
  none: {spec_types: [ngram-mod], workload: copy}
  lookup: {spec_types: [ngram-cache], workload: prose, against: none}
  both: {spec_types: [draft-dflash, draft-mtp], draft_model: plain, workload: copy}
defaults: {context: 4096, backend: cpu, model: plain, engine: cpu}
hosts:
  shape: {ctx_size: 8192}
  value: {slots: many}
  model: {model: plian}
  engine: {backend: rocm, engine: null}
  profile: {profile: fast}
  unmeasured: {backend: vulkan, engine: new, model: headed, profile: copy}
  loses: {backend: cuda, engine: cuda, model: headed, profile: lookup}
  headless: {backend: cuda, engine: cuda, profile: copy}
  typo: {flags: {flash-atn: on}}
  gone: {backend: vulkan, engine: new, extra_args: [--mlock]}
  twice: {flags: {ctx-size: 1}}
  word: {flags: {flash-attn: maybe}}
  aside: {env: {LLAMA_ARG_SPEC_TYPE: ngram-mod}}
  open: {bind: '::'}
  key: {api_key: abcdefg}
  carried: {alias: ";"}
  unit: {unit: {Service: {Restrat: always}}}
  ports: {services: {a: {}, b: {}}}
"""
MISTAKES = [
    ("missing-file", "missing.yml"),
    ("missing-key", "nowhere"),
    ("name-clash", "none"),
    ("does-not-compose", "[draft-dflash, draft-mtp]"),
    ("unknown-key", "ctx_size"),
    ("unexpected-value", "many"),
    ("unknown-model", "plian"),
    ("unknown-engine", "rocm"),
    ("unknown-profile", "fast"),
    ("unmeasured-combination", "copy"),
    ("measured-loss", "lookup"),
    ("head-missing", "copy"),
    ("unknown-flag", "flash-atn"),
    ("removed-flag", "--mlock"),
    ("duplicate-flag", "ctx-size"),
    ("bad-flag-value", "maybe"),
    ("speculation-outside-profile", "LLAMA_ARG_SPEC_TYPE"),
    ("exposed", "'::'"),
    ("literal-secret", "***"),
    ("unsafe-value", '";"'),
    ("unsupported-key", "Restrat"),
    ("port-clash", "{}"),
]


def lines(found: list[Problem]) -> list[int]:
    return [problem.place.line if problem.place else 0 for problem in found]


def test_a_fleet_with_over_twenty_kinds_of_mistakes_has_each_of_them_told_in_the_order_of_the_file() -> None:
    found = problems(TWENTY)
    assert [(problem.code, marked(problem)) for problem in found] == MISTAKES
    assert len(dict(MISTAKES)) == len(MISTAKES) >= 20
    assert {problem.severity for problem in found} == {Severity.ERROR}
    assert lines(found) == sorted(lines(found))


def test_such_a_fleet_ends_with_1_and_touches_nothing(tmp_path: Path) -> None:
    (tmp_path / "fleet.yml").write_text(one(f"{CPU}}}"))
    assert quadgen("render", cwd=tmp_path).status == 0
    (tmp_path / "fleet.yml").write_text(TWENTY)
    before = snapshot(tmp_path, times=True)
    done = run("render", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n  --> fleet.yml:") + done.stderr.count("\n --> fleet.yml:") == len(MISTAKES)
    assert done.stderr.endswith(f"quadgen: {len(MISTAKES)} errors\nquadgen: nothing was written\n")
    assert "abcdefg" not in done.stderr
    for command in (["check"], ["render", "--check"], ["render", "--diff"], ["render", "--host", "shape"]):
        again = quadgen(*command, cwd=tmp_path)
        assert (again.status, again.out) == (1, "")
    assert snapshot(tmp_path, times=True) == before


# A mistake that many hosts share

SHARED = {
    "port: 99999": (("port",), "99999"),
    "profile: fast": (("profile",), "fast"),
    "flags: {tmep: 1}": (("flags", "tmep"), "tmep"),
    "alias: ';'": (("alias",), "';'"),
    "bind: '::'": (("bind",), "'::'"),
    "ctx_size: 1": (("ctx_size",), "ctx_size"),
    "gpus: [{vram: lots}]": (("gpus", 0, "vram"), "lots"),
}


@pytest.mark.parametrize("said", SHARED)
def test_a_mistake_in_a_group_is_told_once_with_the_number_of_hosts_that_inherit_it(said: str) -> None:
    hosts = "".join(f"  h{at}: {CPU}, groups: [desk]}}\n" for at in range(5))
    problem = refusal(f"{ENGINES}groups: {{desk: {{{said}}}}}\nhosts:\n{hosts}  alone: {CPU}}}\n")
    path, text = SHARED[said]
    assert (problem.path, marked(problem)) == (("groups", "desk", *path), text)
    assert problem.notes[-1] == "5 hosts inherit this: h0, h1, h2 and 2 more"
    assert problem.host is None


def test_a_mistake_in_a_group_of_one_host_is_that_host_s() -> None:
    problem = refusal(
        one(f"{CPU}, groups: [desk]}}", above="groups: {desk: {profile: fast}, other: {profile: slow}}\n")
    )
    assert (problem.host, problem.service) == ("claw", "llama-server")
    assert not [note for note in problem.notes if "inherit" in note]


def test_a_mistake_in_the_defaults_is_told_once_for_all_hosts() -> None:
    hosts = "".join(f"  h{at}: {CPU}}}\n" for at in range(4))
    for field in ("port: 0", "profile: fast", "unit: {Service: {Restrat: no}}"):
        problem = refusal(f"{ENGINES}defaults: {{{field}}}\nhosts:\n{hosts}")
        assert (problem.path or ())[0] == "defaults"
        assert problem.notes[-1] == "4 hosts inherit this: h0, h1, h2 and 1 more"


def test_a_host_that_says_it_better_is_not_counted() -> None:
    hosts = "".join(f"  h{at}: {CPU}}}\n" for at in range(2))
    text = f"{ENGINES}defaults: {{profile: fast}}\nhosts:\n{hosts}  good: {CPU}, profile: none}}\n"
    assert refusal(text).notes[-1] == "2 hosts inherit this: h0, h1"


def test_a_mistake_of_an_engine_is_told_once_for_all_who_use_it() -> None:
    hosts = "".join(f"  h{at}: {CPU}}}\n" for at in range(3))
    text = f"{ENGINES}hosts:\n{hosts}".replace(":server-b10715", ":latest")
    (problem,) = problems(text)
    assert (problem.code, problem.path) == ("stale-build", ("engines", "cpu", "image"))
    assert problem.notes[-1] == "3 hosts use this: h0, h1, h2"


def test_what_is_wrong_behind_an_anchor_is_told_once_at_the_anchor() -> None:
    above = "x-bad: &bad {A: [1]}\nx-worse: &worse fast\n"
    hosts = "".join(f"  h{at}: {CPU}, env: *bad, profile: *worse}}\n" for at in range(3))
    found = refusals(f"{ENGINES}{above}hosts:\n{hosts}")
    assert [(problem.code, marked(problem)) for problem in found] == [
        ("unexpected-value", "[1]"),
        ("unknown-profile", "fast"),
    ]
    first = (ENGINES + above).count("\n") - 1
    assert lines(found) == [first, first + 1]
    assert [problem.notes[-1] for problem in found] == ["3 hosts inherit this: h0, h1, h2"] * 2


def test_what_came_with_a_merge_key_is_told_once_in_the_mapping_that_it_came_from() -> None:
    above = "x-base: &base\n  port: 99999\n  ctx_size: 1\n  flags: {tmep: 1}\n"
    hosts = "".join(f"  h{at}: {{<<: *base, model: plain, backend: cpu, engine: cpu, context: 1}}\n" for at in range(3))
    found = refusals(f"{ENGINES}{above}hosts:\n{hosts}")
    assert [(problem.code, marked(problem)) for problem in found] == [
        ("unexpected-value", "99999"),
        ("unknown-key", "ctx_size"),
        ("unknown-flag", "tmep"),
    ]
    assert lines(found) == [ENGINES.count("\n") + line for line in (2, 3, 4)]
    assert {problem.notes[-1] for problem in found} == {"3 hosts inherit this: h0, h1, h2"}


def test_a_key_of_one_s_own_beside_a_merge_key_is_the_place() -> None:
    above = "x-base: &base {port: 99999, backend: cpu, engine: cpu}\n"
    problem = refusal(one("<<: *base\nmodel: plain\ncontext: 1\nport: 88888\n", above=above))
    assert (marked(problem), problem.host) == ("88888", "claw")


def test_the_same_mistake_at_two_places_is_told_twice() -> None:
    text = f"{ENGINES}hosts:\n  a: {CPU}, profile: fast}}\n  b: {CPU}, profile: fast}}\n"
    assert [problem.host for problem in refusals(text)] == ["a", "b"]


# --host

SPLIT = f"""\
{ENGINES}groups: {{bad: {{profile: fast}}}}
hosts:
  good: {CPU}}}
  other: {CPU}, alias: other}}
  bad: {CPU}, groups: [bad]}}
"""


def test_a_refusal_elsewhere_is_a_warning_and_the_selected_host_is_written(tmp_path: Path) -> None:
    (tmp_path / "fleet.yml").write_text(SPLIT)
    done = quadgen("render", "--host", "good", cwd=tmp_path)
    assert done.status == 0
    assert done.err.startswith("warning[unknown-profile]: there is no profile named fast\n")
    assert sorted(path.name for path in (tmp_path / "rendered").iterdir()) == ["good"]
    assert quadgen("render", "--host", "good", "--check", cwd=tmp_path).status == 0


@pytest.mark.parametrize("hosts", [["bad"], ["good", "bad"]])
def test_a_refusal_of_a_selected_host_blocks_all_of_them(hosts: list[str], tmp_path: Path) -> None:
    (tmp_path / "fleet.yml").write_text(SPLIT)
    done = quadgen("render", *[word for host in hosts for word in ("--host", host)], cwd=tmp_path)
    assert done.status == 1
    assert done.err.startswith("error[unknown-profile]")
    assert not (tmp_path / "rendered").exists()


def test_nothing_but_the_selected_hosts_is_written_or_pruned(tmp_path: Path) -> None:
    (tmp_path / "fleet.yml").write_text(SPLIT.partition("  bad:")[0])
    assert quadgen("render", cwd=tmp_path).status == 0
    root = tmp_path / "rendered"
    changed = SPLIT.partition("  other:")[0].replace("hosts:\n", f"hosts:\n  fresh: {CPU}}}\n").replace("4096", "8192")
    (tmp_path / "fleet.yml").write_text(changed)
    before = snapshot(root / "other", times=True)
    assert quadgen("render", "--host", "good", cwd=tmp_path).status == 0
    assert snapshot(root / "other", times=True) == before
    assert sorted(path.name for path in root.iterdir()) == ["good", "other"]
    assert "--ctx-size 8192" in (root / "good/etc/containers/systemd/llama-server.container").read_text()
    assert quadgen("render", "--check", cwd=tmp_path).status == 3


@pytest.mark.parametrize("mistake", ["  plain: {file: plain.gguf, mpt: false}", "  plain: {file: 5.5, mtp: maybe}"])
def test_a_mistake_in_the_shape_of_the_whole_fleet_blocks_whichever_host_is_selected(
    mistake: str, tmp_path: Path
) -> None:
    (tmp_path / "fleet.yml").write_text(SPLIT.replace("  plain: {file: plain.gguf, mtp: false}", mistake))
    done = quadgen("render", "--host", "good", cwd=tmp_path)
    assert done.status == 1
    assert "error[" in done.err
    assert not (tmp_path / "rendered").exists()


def test_a_host_that_is_not_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "fleet.yml").write_text(SPLIT)
    done = quadgen("render", "--host", "goood", "--host", "good", cwd=tmp_path)
    assert done.status == 1
    assert "there is no host goood in the fleet" in done.err
    assert not (tmp_path / "rendered").exists()


def test_a_mistake_in_a_group_blocks_a_host_that_inherits_it_and_no_other() -> None:
    for host, refused in (("good", False), ("bad", True)):
        compiled = compile_text(SPLIT, only=frozenset({host}))
        assert compiled.refused == refused
        assert {path.partition("/")[0] for path in units(compiled)} <= {host}


@pytest.mark.parametrize("place", ["groups: {bad: {profile: fast}}", "alias: other"])
def test_a_mistake_in_the_shape_of_the_file_blocks_every_host_wherever_it_is(place: str) -> None:
    text = SPLIT.replace(place, "groups: {bad: {port: 0}}" if place.startswith("groups") else "port: 0")
    assert [compile_text(text, only=frozenset({host})).refused for host in ("good", "bad")] == [True, True]


@pytest.mark.parametrize("model", ["model: plian", "model: hollow", "alias: ';'"])
def test_a_model_that_cannot_be_had_hides_nothing_else_of_its_service(model: str) -> None:
    """It is misspelled, it has no file, or the service has none at all."""
    fields = f"backend: cpu\nengine: cpu\nprofile: copy\nflags: {{tmep: 1}}\nbind: '*'\n{model}\n"
    text = one(f"{fields}services: {{chat: {{}}}}\n", above="  hollow: {mtp: true}\n")
    found = {(problem.code, marked(problem)) for problem in refusals(text)}
    assert {("unknown-flag", "tmep"), ("unexpected-value", "'*'")} <= found
    assert not {code for code, _ in found} & {"head-missing", "unmeasured-combination", "context-unknown"}
    assert ("unknown-model", "plian") in found or model != "model: plian"
