"""Which checkpoints a fleet names and where they lie, and what of a lock contradicts it."""

from dataclasses import replace

import pytest

from made_facts import made
from quadgen.document import load
from quadgen.facts.record import Facts, Lock
from quadgen.fleet.load import Fleet
from quadgen.fleet.load import load as load_fleet
from quadgen.locking import Named, changes, contradictions, file_name, literal_pattern, named, renewed
from quadgen.problems import Collector

FLEET = """\
version: 1
models:
  chat: {file: chat-00001-of-00002.gguf, mtp: chat-head.gguf, mmproj: chat-mmproj.gguf, size: 4KiB}
  draft: {file: ~/drafts/draft.gguf}
  hub: {hf: "org/repo:Q4_K_M", mmproj: /srv/eyes/hub.gguf}
  far: {url: "https://example.org/far.gguf"}
  flash: {file: flash.hgn}
  idle: {file: idle.gguf, mtp: true}
profiles:
  drafted: {spec_types: [draft-simple], workload: prose, draft_model: draft}
defaults: {models_dir: /srv/models}
groups:
  big: {models_dir: /data/models/}
hosts:
  claw: {model: chat, rootless: ada, profile: drafted, lora: [style.gguf]}
  forge:
    groups: [big]
    home: /var/lib/llm
    services:
      a: {model: chat, mmproj: other-mmproj.gguf}
      b: {model: hub, draft_model: draft}
      c: {model: chat, models_dir: /srv/models, mmproj: false}
  halo: {model: flash}
"""


def fleet(text: str = FLEET) -> Fleet:
    return load_fleet(load("fleet.yml", text.encode()), Collector())


def by_name(text: str = FLEET) -> dict[str, Named]:
    return {one.name: one for one in named(fleet(text))}


def test_every_checkpoint_of_a_fleet_is_named_once_and_sorted_and_adapters_are_not() -> None:
    found = named(fleet())
    assert [(one.name, one.kind, one.path) for one in found] == [
        ("/srv/eyes/hub.gguf", "file", ("models", "hub", "mmproj")),
        ("chat-00001-of-00002.gguf", "file", ("models", "chat", "file")),
        ("chat-head.gguf", "file", ("models", "chat", "mtp")),
        ("chat-mmproj.gguf", "file", ("models", "chat", "mmproj")),
        ("flash.hgn", "file", ("models", "flash", "file")),
        ("hf:org/repo:Q4_K_M", "hf", ("models", "hub", "hf")),
        ("https://example.org/far.gguf", "url", ("models", "far", "url")),
        ("idle.gguf", "file", ("models", "idle", "file")),
        ("other-mmproj.gguf", "file", ("hosts", "forge", "services", "a", "mmproj")),
        ("~/drafts/draft.gguf", "file", ("models", "draft", "file")),
    ]
    assert [one.name for one in found if not one.is_gguf] == ["flash.hgn"]


def test_a_file_is_where_the_services_that_use_it_have_their_models() -> None:
    assert {name: one.spots for name, one in by_name().items() if one.kind == "file"} == {
        "/srv/eyes/hub.gguf": ["/srv/eyes/hub.gguf"],
        "chat-00001-of-00002.gguf": [
            "/srv/models/chat-00001-of-00002.gguf", "/data/models/chat-00001-of-00002.gguf",
        ],
        "chat-head.gguf": ["/srv/models/chat-head.gguf", "/data/models/chat-head.gguf"],
        "chat-mmproj.gguf": ["/srv/models/chat-mmproj.gguf", "/data/models/chat-mmproj.gguf"],
        "flash.hgn": ["/srv/models/flash.hgn"],
        "idle.gguf": ["/srv/models/idle.gguf"],
        "other-mmproj.gguf": ["/data/models/other-mmproj.gguf"],
        "~/drafts/draft.gguf": ["/home/ada/drafts/draft.gguf", "/var/lib/llm/drafts/draft.gguf"],
    }  # fmt: skip


def test_what_an_engine_fetches_lies_nowhere() -> None:
    found = by_name()
    assert found["hf:org/repo:Q4_K_M"].spots == found["https://example.org/far.gguf"].spots == []


def test_a_projector_of_a_service_belongs_to_the_model_that_it_serves() -> None:
    assert by_name()["other-mmproj.gguf"].models == ["chat"]


def test_two_models_of_one_file_are_one_checkpoint() -> None:
    found = by_name("version: 1\nmodels: {a: {file: x.gguf}, b: {file: x.gguf}}\nhosts: {h: {model: b}}\n")
    assert {name: one.models for name, one in found.items()} == {"x.gguf": ["a", "b"]}


def test_a_file_that_no_service_uses_is_where_the_defaults_say() -> None:
    models = "models: {a: {file: ~/a.gguf}, b: {file: b.gguf}}\nhosts: {}\n"
    text = f"version: 1\ndefaults: {{models_dir: /m, rootless: ada}}\n{models}"
    assert {name: one.spots for name, one in by_name(text).items()} == {
        "~/a.gguf": ["/home/ada/a.gguf"], "b.gguf": ["/m/b.gguf"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "below"),
    [
        ("a.gguf", "/mnt/a.gguf"),
        ("org/a.gguf", "/mnt/org/a.gguf"),
        ("/srv/x/a.gguf", "/mnt/a.gguf"),
        ("~/x/a.gguf", "/mnt/a.gguf"),
    ],
)
def test_in_another_directory_a_file_has_its_name_and_an_absolute_one_its_last_part(name: str, below: str) -> None:
    assert Named(name=name, kind="file", path=()).below("/mnt") == below


def test_a_fleet_that_is_broken_in_places_names_what_is_left() -> None:
    assert by_name(
        "version: 1\nmodels: {a: {mtp: x.gguf}, b: }\nhosts: {h: {model: nobody, profile: nothing}, g: }\n"
    ).keys() == {"x.gguf"}


@pytest.mark.parametrize("lock", ["fleet", "notes.md", "/etc/shadow"])
def test_a_lock_has_the_name_of_one(lock: str) -> None:
    collector = Collector()
    assert file_name(fleet(f"version: 1\nlock: {lock}\nhosts: {{}}\n"), collector) is None
    assert [(problem.code, problem.message, problem.path) for problem in collector.problems] == [
        ("unexpected-value", f"{lock} is no lock by its name", ("lock",))
    ]


@pytest.mark.parametrize(
    ("said", "name"), [("", "models.lock.yml"), ("lock: a/b.yaml\n", "a/b.yaml"), ("lock: null\n", "models.lock.yml")]
)
def test_the_lock_stands_beside_the_fleet_unless_the_fleet_says_where(said: str, name: str) -> None:
    collector = Collector()
    assert file_name(fleet(f"version: 1\n{said}hosts: {{}}\n"), collector) == name
    assert collector.problems == []


def test_a_name_with_the_signs_of_a_pattern_matches_itself_alone() -> None:
    assert literal_pattern("a[1]*?.yml") == "a[[]1][*][?].yml"


def sized(declared: str, size: int, name: str = "a.gguf") -> list[str]:
    text = f"version: 1\nmodels: {{a: {{file: a.gguf, size: {declared}}}}}\nhosts: {{}}\n"
    found = list(contradictions(fleet(text), Lock(files={name: made(size=size)})))
    assert all((one.code, one.path) == ("size-conflict", ("models", "a", "size")) for one in found)
    return [one.message for one in found]


@pytest.mark.parametrize(
    ("declared", "size"),
    [("15.9GiB", 17072345678), ("16GiB", 17072345678), ("17GB", 17072345678), ("4KiB", 4096), ("1B", 1)],
)
def test_a_size_may_be_rounded(declared: str, size: int) -> None:
    assert sized(declared, size) == []


@pytest.mark.parametrize(
    ("declared", "size", "said"),
    [
        ("17GiB", 17072345678, "a is declared as 17.0 GiB, and its file has 15.9 GiB"),
        ("15.9GB", 17072345678, "a is declared as 14.8 GiB, and its file has 15.9 GiB"),
        ("1GiB", 1000, "a is declared as 1.0 GiB, and its file has 1000 bytes"),
        ("1B", 0, "a is declared as 1 bytes, and its file has 0 bytes"),
    ],
)
def test_a_size_that_the_file_cannot_have_is_a_contradiction(declared: str, size: int, said: str) -> None:
    assert sized(declared, size) == [said]


def test_a_size_of_what_nobody_recorded_contradicts_nothing() -> None:
    assert sized("1GiB", 1000, name="b.gguf") == []
    assert list(contradictions(fleet(), Lock())) == []


def test_what_changed_of_a_file_is_told() -> None:
    old = made(size=5, shards=2, header="0" * 64)
    assert changes(old, made(size=5, shards=2, header="0" * 64)) == []
    assert changes(old, made(size=6, header="1" * 64)) == [
        "size: 5 bytes in the lock, 6 in the file",
        "shards: 2 in the lock, 1 in the file",
        "header: 0000000000000000... in the lock, 1111111111111111... in the file",
    ]


def test_a_lock_that_somebody_changed_does_not_agree_with_an_unchanged_header() -> None:
    assert changes(made({"block_count": 2}), made({"block_count": 3})) == [
        "the header is the same, and the lock says something else of it than this quadgen"
    ]


def test_what_cannot_be_had_stays_and_what_is_not_named_goes() -> None:
    old = Lock(files={name: made(name=f"old {name}") for name in ("a", "b", "gone")})
    asked = [Named(name=name, kind="file", path=()) for name in ("a", "b", "c")]
    new: dict[str, Facts] = {"a": made(name="new a")}
    assert {name: facts.name for name, facts in renewed(old, asked, new, whole=True).files.items()} == {
        "a": "new a", "b": "old b",
    }  # fmt: skip
    assert {name: facts.name for name, facts in renewed(old, asked[:1], new, whole=False).files.items()} == {
        "a": "new a", "b": "old b", "gone": "old gone",
    }  # fmt: skip


def test_the_facts_that_are_compared_are_all_that_are_recorded() -> None:
    base = made({"a": 1}, vocabulary=None)
    for changed in (
        replace(base, architecture="x"), replace(base, name="x"), replace(base, type="x"), replace(base, heads=(1,)),
        replace(base, quantization=None), replace(base, marks=("d2t",)), replace(base, keys={}),
        replace(base, weights=replace(base.weights, other=1)),
    ):  # fmt: skip
        assert changes(base, changed) != []
