"""The documents say what the program does: their fleets compile, what they show is printed, nothing is left out."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from blocks import Block, blocks, printed
from pages import Fence, fences, links, pages, prose, read, said
from quadgen.cli.app import COMMANDS, GROUPS
from quadgen.cli.exits import Exit
from quadgen.document import load
from quadgen.engines.registry import ENGINES
from quadgen.evidence.reading import RowText, SettingText
from quadgen.fleet.schema import json_schema
from quadgen.resolution import STOP_GRACE
from quadgen.resolve import timing
from source import ROOT

KINDS = {"fleet", "more", "fixed", "ledger", "lock", "row", "play", "gitops"}
LANGUAGES = {"yaml", "sh", "console", "ini", "text", "json"}
DRAWN = re.compile(r"[╭╮╰╯│─]|<[a-z|]+>")
"""How Typer frames a help text and names a kind of value, which differs from release to release."""
FIGURE = re.compile(r"\d+(?:\.\d+)?(?:x\b|\s?%|\s?tok/s)")
CODE = re.compile(r"`([^`\n]+)`")

PAGES = pytest.mark.parametrize("page", pages())
FLEETS = [
    fence
    for page in pages()
    for fence in fences(page)
    if fence.language == "yaml" and fence.words[:1] and fence.words[0] in KINDS - {"row", "play", "gitops"}
]


@pytest.mark.parametrize("fence", FLEETS, ids=lambda fence: fence.place)
def test_a_fleet_or_ledger_is_reported_with_exactly_the_codes_beside_it(fence: Fence) -> None:
    found = said(fence.stand)
    assert {problem.code for problem in found} == set(fence.words[1:]), [f"{p.code}: {p.message}" for p in found]


def test_the_documents_have_fleets_that_compile_and_fleets_that_are_refused() -> None:
    assert {(fence.page, len(fence.words) > 1) for fence in FLEETS} >= {
        ("README.md", False),
        ("README.md", True),
        ("docs/errors.md", True),
        ("docs/evidence.md", True),
        ("docs/fleet.md", False),
        ("docs/units.md", False),
    }


@PAGES
def test_every_fence_says_what_it_is(page: str) -> None:
    strange = [
        f"{fence.place}: {fence.language} {' '.join(fence.words)}"
        for fence in fences(page)
        if fence.language not in LANGUAGES
        or (fence.language == "yaml" and (not fence.words or fence.words[0] not in KINDS))
    ]
    assert not strange, "\n".join(strange)


def test_every_playbook_is_yaml_and_a_list_of_plays() -> None:
    plays = [fence for page in pages() for fence in fences(page) if fence.words == ("play",)]
    assert plays
    for fence in plays:
        played = load(fence.place, fence.text.encode()).data
        assert all("hosts" in play and play.keys() & {"tasks", "roles"} for play in played)


def shown(block: Block) -> tuple[object, object]:
    """What a block shows and should show; of a help text the words alone."""
    if block.order.endswith("--help"):
        return DRAWN.sub(" ", block.shown).split(), DRAWN.sub(" ", block.fresh).split()
    return block.shown, block.fresh


@PAGES
def test_what_a_program_prints_stands_in_the_documents_as_it_prints_it(page: str) -> None:
    for block in blocks(page):
        old, new = shown(block)
        assert old == new, f"{page}: `{block.order}` is out of date: python tests/blocks.py"


def test_a_help_text_that_lost_a_word_is_noticed() -> None:
    block = Block(order="run --help", shown="│ --check  <bool>  Write. │", fresh="--check  Write nothing.")
    old, new = shown(block)
    assert old != new


def test_the_readme_shows_a_refusal_as_the_command_prints_it_and_what_becomes_of_the_fleet() -> None:
    orders = [block.order for block in blocks("README.md")]
    assert orders[0] == "run render fleet.yml"
    assert {"run explain fleet.yml claw", "files", "run --help"} <= set(orders)
    refusal = blocks("README.md")[0].shown
    assert "error[unmeasured-combination]" in refusal
    assert "nothing was written" in refusal


def test_every_command_has_its_section_with_its_help() -> None:
    page = read("docs/commands.md")
    headings = re.findall(r"(?m)^## (.+)$", page)
    assert headings == [*COMMANDS, *GROUPS]
    assert {f"run {name} --help" for name in (*COMMANDS, *GROUPS)} <= {
        block.order for block in blocks("docs/commands.md")
    }


@pytest.mark.parametrize("page", ["README.md", "docs/commands.md"])
def test_every_exit_status_stands_in_a_table(page: str) -> None:
    assert re.findall(r"(?m)^\| (\d) \| ", read(page)) == [str(int(status)) for status in Exit]


def test_the_keys_of_an_explanation_are_those_that_the_page_lists() -> None:
    fleet = next(fence for fence in fences("docs/commands.md") if fence.words == ("fleet",))
    answer = json.loads(printed("explain fleet.yml forge/chat --format json", fleet.stand))
    assert answer.keys() == {"host", "services", "refused"}
    section = read("docs/commands.md").partition("\n## explain\n")[2].partition("\n## ")[0]
    assert set(keys(section)) == answer["services"][0].keys()


def keys(text: str) -> Iterator[str]:
    """The keys in the first column of a page's tables."""
    for row in re.findall(r"(?m)^\| (`.+?`) \|", text):
        yield from (word.removesuffix("=") for word in CODE.findall(row))


def section(page: str, heading: str) -> str:
    """What stands under a heading, up to the next one of any level."""
    found = re.search(rf"(?ms)^#+ {re.escape(heading)}$(.*?)(?=^#+ |\Z)", read(page))
    assert found, heading
    return found[1]


SCHEMA = json_schema()
SHAPES = {
    "The file": set(SCHEMA["properties"]),
    **{
        heading: set(SCHEMA["$defs"][shape]["properties"])
        for heading, shape in {
            "policy": "PolicyFields",
            "engines": "EngineFields",
            "models": "ModelFields",
            "profiles": "ProfileFields",
            "gpus": "CardFields",
            "cache_type": "CacheTypes",
            "restart": "RestartFields",
            "health": "HealthFields",
            "limits": "LimitFields",
        }.items()
    },
    "hosts": set(SCHEMA["$defs"]["HostFields"]["properties"]) - set(SCHEMA["$defs"]["ServiceFields"]["properties"]),
}


@pytest.mark.parametrize("heading", SHAPES)
def test_every_key_of_the_fleet_file_has_its_row_and_no_row_is_of_another(heading: str) -> None:
    assert sorted(keys(section("docs/fleet.md", heading))) == sorted(SHAPES[heading])


def test_every_key_of_a_service_has_its_row_and_no_row_is_of_another() -> None:
    headings = ("What runs", "What it is told", "Where it listens", "How it lives")
    rows = [key for heading in headings for key in keys(section("docs/fleet.md", heading))]
    values = {"true", "false", "null"}  # the table of what becomes of a flag's value
    assert sorted(set(rows) - values) == sorted(SCHEMA["$defs"]["ServiceFields"]["properties"])


def test_every_engine_but_the_one_that_the_page_is_about_has_its_section_with_a_fleet() -> None:
    others = set(ENGINES) - {"llama.cpp"}
    assert others
    for kind in others:
        shown = [fence.text for fence in fences("docs/fleet.md") if fence.words[:1] == ("fleet",)]
        assert section("docs/fleet.md", kind)
        assert any(f"kind: {kind}," in text for text in shown), kind


def test_every_shape_of_the_schema_has_its_table() -> None:
    told = {"PolicyFields", "EngineFields", "ModelFields", "ProfileFields", "CardFields", "CacheTypes", "RestartFields"}
    told |= {"HealthFields", "LimitFields", "HostFields", "HostDefaults", "ServiceFields"}
    assert set(SCHEMA["$defs"]) == told


def test_every_key_of_a_row_is_in_the_page_on_evidence() -> None:
    rows = set(keys(section("docs/evidence.md", "Rows and ledgers")))
    assert rows == set(RowText.model_fields)
    assert all(f"`{name}`" in section("docs/evidence.md", "Rows and ledgers") for name in SettingText.model_fields)


def directives() -> set[str]:
    """Every key that a template can write."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "templates").glob("*.j2")]
    return {key for text in texts for key in re.findall(r"(?m)^([A-Z]\w+)=", text)}


def test_every_key_of_a_unit_has_its_reason_and_no_reason_is_of_a_key_that_is_gone() -> None:
    explained = {key for key in keys(read("docs/units.md")) if key[0].isupper()}
    assert explained == directives()


def test_the_constants_in_the_page_on_units_are_those_of_the_program() -> None:
    text = section("docs/units.md", "The start timeout")
    standard = ENGINES["llama.cpp"].start_timeout
    for words in (f"{standard} s", f"{timing.PULL} s for", f"{timing.SLOWEST_READ // 2**20} MiB/s"):
        assert words in text
    assert f"{STOP_GRACE} s longer" in section("docs/units.md", "[Service]")
    assert f"`{timing.STOP}s`" in section("docs/fleet.md", "How it lives")


@PAGES
def test_every_link_leads_somewhere(page: str) -> None:
    broken = []
    for target in links(page):
        if re.match(r"https?://", target):
            continue
        name, _, anchor = target.partition("#")
        path = (ROOT / page).parent / name if name else ROOT / page
        if not path.exists() or (anchor and anchor not in anchors(path)):
            broken.append(target)
    assert not broken


def anchors(path: Path) -> list[str]:
    """The anchors that GitHub makes of a page's headings."""
    headings = re.findall(r"(?m)^#+ (.+)$", path.read_text(encoding="utf-8"))
    return [re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings]


@PAGES
def test_no_figure_stands_in_prose(page: str) -> None:
    """A number that somebody measured is shown from its row, or the next row leaves it behind."""
    assert not FIGURE.findall(prose(page))


@PAGES
def test_every_target_of_make_that_is_named_exists(page: str) -> None:
    targets = set(re.findall(r"(?m)^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8")))
    named = set(re.findall(r"(?m)(?:^|`| )make ([a-z]+)\b(?=[` \n]|$)", "".join(commands(page))))
    assert named <= targets


def commands(page: str) -> Iterator[str]:
    """What a page tells to type: its shell fences and what stands in backticks."""
    yield from (fence.text for fence in fences(page) if fence.language == "sh")
    yield from (f"`{code}`\n" for code in CODE.findall(prose(page)))


def test_every_file_that_the_guide_for_contributors_names_exists() -> None:
    names = {name for name in CODE.findall(prose("CONTRIBUTING.md")) if re.fullmatch(r"[\w./-]+(?:\.\w+|/)", name)}
    bases = (ROOT, ROOT / "src" / "quadgen")
    fixed = {name for name in names if not re.search(r"\b(?:NAME|KIND)\b", name)}
    assert len(fixed) > 30
    assert not sorted(name for name in fixed if not any((base / name).exists() for base in bases))
