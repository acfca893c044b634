"""A fleet's own templates: they may restyle a unit, and may not change a word that was decided."""

import re
from pathlib import Path

import pytest

from fleets import CPU, accepted, marked, one, refusal, refusals, run, shipped, unit, values
from quadgen.problems import Problem
from source import ROOT, tracked

CONTAINER = "llama.cpp.container.j2"
SERVICE = "llama.cpp.service.j2"
QUADLET = one(f"{CPU}}}")
NATIVE = one(f"{CPU}, runtime: systemd}}")
GPU = one("{backend: vulkan, runtime: systemd, model: plain, context: 4096}")
IMAGE = "Image={{ unit.image | last }}"
EXEC = "Exec={{ unit.argv | exec_words }}"
START = "ExecStart={{ unit.command | service_words }}"
FIXED = {CONTAINER: "NoNewPrivileges=true", SERVICE: "NoNewPrivileges=yes"}
"""A constant line of each template, after which others can be added."""


def own(name: str, old: str, new: str) -> dict[str, str]:
    """The shipped template with one line in another's place, as a file beside the fleet."""
    text = shipped()[name].text
    assert text.count(f"{old}\n") == 1, old
    return {f"templates/{name}": text.replace(f"{old}\n", f"{new}\n")}


def line(name: str, files: dict[str, str], start: str) -> int:
    """The number of the first line of a template that starts so."""
    lines = files[f"templates/{name}"].splitlines()
    return next(number for number, text in enumerate(lines, 1) if text.startswith(start))


def at(problem: Problem) -> tuple[str, int]:
    assert problem.place is not None
    return problem.place.file, problem.place.line


@pytest.mark.parametrize(("name", "fleet"), [(CONTAINER, QUADLET), (SERVICE, NATIVE)], ids=["podman", "systemd"])
def test_a_constant_line_may_be_changed_added_and_taken_out(name: str, fleet: str) -> None:
    section, added = ("Container", "ReadOnlyTmpfs") if name == CONTAINER else ("Service", "X-Note")
    changed = FIXED[name].partition("=")[0]
    text = unit(fleet, own(name, FIXED[name], f"{changed}=false\n{added}=true"))
    assert (values(text, section, changed), values(text, section, added)) == (["false"], ["true"])
    assert values(unit(fleet, own(name, FIXED[name], "")), section, changed) == []


def test_a_template_of_the_fleet_changes_no_other_kind_of_unit() -> None:
    assert unit(NATIVE, own(CONTAINER, FIXED[CONTAINER], "")) == unit(NATIVE)


def test_a_comment_of_the_template_stands_in_the_unit() -> None:
    assert "\n# ours: ask the desk\n" in unit(QUADLET, own(CONTAINER, IMAGE, f"# ours: ask the desk\n{IMAGE}"))


def test_a_part_of_its_own_can_be_included() -> None:
    files = own(CONTAINER, IMAGE, "{% include 'image.j2' %}")
    assert unit(QUADLET, files | {"templates/image.j2": f"{IMAGE}\n"}) == unit(QUADLET)


def test_a_template_can_be_extended() -> None:
    base = own(CONTAINER, FIXED[CONTAINER], f"{{% block more %}}{{% endblock %}}{FIXED[CONTAINER]}")
    above = "{% extends 'base.j2' %}\n{% block more %}\nReadOnlyTmpfs=true\n{% endblock %}\n"
    files = {"templates/base.j2": base[f"templates/{CONTAINER}"], f"templates/{CONTAINER}": above}
    assert values(unit(QUADLET, files), "Container", "ReadOnlyTmpfs") == ["true"]


CHANGED = {
    "another image": (CONTAINER, IMAGE, "Image=docker.io/library/other:1", "Image"),
    "the image twice": (CONTAINER, IMAGE, f"{IMAGE}\nImage=docker.io/library/other:1", "Image"),
    "an argument more": (CONTAINER, EXEC, f"{EXEC} --verbose", "Exec"),
    "no arguments": (CONTAINER, EXEC, "", "Exec"),
    "a mount more": (CONTAINER, IMAGE, f"{IMAGE}\nVolume=/:/host", "Volume"),
    "a bind mount by another key": (CONTAINER, IMAGE, f"{IMAGE}\nMount=type=bind,source=/,target=/host", "Mount"),
    "a port more": (CONTAINER, IMAGE, f"{IMAGE}\nPublishPort=80:8080", "PublishPort"),
    "a device more": (CONTAINER, IMAGE, f"{IMAGE}\nAddDevice=/dev/mem", "AddDevice"),
    "a variable more": (CONTAINER, IMAGE, f"{IMAGE}\nEnvironment=LLAMA_ARG_SPEC_TYPE=ngram-mod", "Environment"),
    "a file of variables": (CONTAINER, IMAGE, f"{IMAGE}\nEnvironmentFile=/etc/llama.env", "EnvironmentFile"),
    "an option of Podman": (CONTAINER, IMAGE, f"{IMAGE}\nPodmanArgs=--env=A=b", "PodmanArgs"),
    "another entry point": (CONTAINER, IMAGE, f"{IMAGE}\nEntrypoint=/bin/sh", "Entrypoint"),
    "a start timeout of its own": (CONTAINER, "[Service]", "[Service]\nTimeoutStartSec=1", "TimeoutStartSec"),
    "another program": (SERVICE, START, "ExecStart=/bin/true", "ExecStart"),
    "a second command": (SERVICE, START, f"{START}\nExecStart=/bin/true", "ExecStart"),
    "a variable of the service": (SERVICE, START, f"Environment=A=b\n{START}", "Environment"),
    "variables of the manager": (SERVICE, START, f"PassEnvironment=LLAMA_ARG_SPEC_TYPE\n{START}", "PassEnvironment"),
    "another user": (SERVICE, START, f"User=root\n{START}", "User"),
}


@pytest.mark.parametrize("what", CHANGED)
def test_a_decided_word_cannot_be_changed(what: str) -> None:
    name, old, new, key = CHANGED[what]
    files = own(name, old, new)
    problem = refusal(QUADLET if name == CONTAINER else NATIVE, files)
    assert problem.code == "unit-changed-by-template"
    assert f": {key}= does not read back as what was decided" in problem.message
    assert [note.partition(":")[0] for note in problem.notes] == ["decided", "reads back"]
    there = f"{key}=" in files[f"templates/{name}"]
    assert at(problem) == (f"templates/{name}", line(name, files, f"{key}=") if there else 1)
    assert (problem.host, problem.service) == ("claw", "llama-server")


FAILS = {
    "a hole without a filter": ("Image={{ unit.image }}", "str is printed without a filter that escapes it"),
    "a number without a filter": ("Image={{ 8080 }}", "int is printed without a filter that escapes it"),
    "nothing": ("Image={{ none }}", "NoneType is printed without a filter that escapes it"),
    "a filtered word that is joined": ("Image={{ (unit.image | last) ~ 'x' }}", "str is printed without a filter"),
    "an undefined name": ("Image={{ unit.imaje | last }}", "no attribute 'imaje'"),
    "an undefined name at the top": ("Image={{ imaje }}", "'imaje' is undefined"),
    "an undefined name in a condition": ("{% if unit.imaje %}{% endif %}", "no attribute 'imaje'"),
    "a filter of another name": ("Image={{ unit.image | first }}", "No filter named 'first'"),
    "a filter for other values": ("Image={{ unit.argv | last }}", ""),
    "an open hole": ("Image={{ unit.image | last", "expected token 'end of print statement'"),
    "an open block": ("{% if unit.image %}", "Unexpected end of template"),
    "a word that is no statement": ("{% wenn unit.image %}", "Encountered unknown tag 'wenn'"),
    "a macro": ("{% macro m(x) %}{{ x | last }}{% endmacro %}Image={{ m(unit.image) }}", "str is printed without"),
    "a missing part": ("{% include 'other.j2' %}", "there is no template other.j2"),
    "a loop over a number": ("{% for x in unit.start_timeout %}{% endfor %}", "'int' object is not iterable"),
    "a division by zero": ("{% if 1 / 0 %}{% endif %}", "division by zero"),
    "itself": (f"{{% include '{CONTAINER}' %}}", "recursion"),
    "a call of nothing": ("{% set x = unit.image() %}", "'str' object is not callable"),
}


@pytest.mark.parametrize("what", FAILS)
def test_a_template_that_fails_is_a_problem_at_its_line(what: str) -> None:
    new, said = FAILS[what]
    files = own(CONTAINER, IMAGE, new)
    problem = refusal(QUADLET, files)
    assert problem.code == "unit-changed-by-template"
    assert problem.message.startswith("the template fails: ")
    assert said in problem.message
    file, number = at(problem)
    assert file == f"templates/{CONTAINER}"
    wrong = line(CONTAINER, files, new)
    # an open hole is noticed where the next line begins, an open block where the file ends
    assert wrong <= number if "open" in what else number == wrong
    assert marked(problem)


def test_a_failing_part_is_named_and_not_the_template_that_includes_it() -> None:
    files = own(CONTAINER, IMAGE, "{% include 'image.j2' %}")
    problem = refusal(QUADLET, files | {"templates/image.j2": "# the image\nImage={{ unit.image }}\n"})
    assert (at(problem), marked(problem)) == (("templates/image.j2", 2), "Image={{ unit.image }}")
    problem = refusal(QUADLET, files | {"templates/image.j2": "# the image\n\nImage={{ unit.image | }}\n"})
    assert at(problem) == ("templates/image.j2", 3)


@pytest.mark.parametrize(
    ("name", "fleet", "new", "hint"),
    [
        (CONTAINER, QUADLET, "ReadOnyl=true", "did you mean ReadOnly=?"),
        (CONTAINER, QUADLET, "X-Note=ours", None),
        (CONTAINER, QUADLET, "MemoryMax=1G", "did you mean Memory=?"),
        (SERVICE, NATIVE, "ProtectHmoe=yes", "did you mean ProtectHome=?"),
    ],
    ids=lambda value: value if isinstance(value, str) and "=" in value else "",
)
def test_a_key_that_nobody_reads_is_no_constant_line(name: str, fleet: str, new: str, hint: str | None) -> None:
    files = own(name, FIXED[name], f"{FIXED[name]}\n{new}")
    problem = refusal(fleet, files)
    assert (problem.code, at(problem)) == ("unsupported-key", (f"templates/{name}", line(name, files, new)))
    assert f"nobody reads {new.partition('=')[0]}= in" in problem.message
    assert problem.hint == hint


@pytest.mark.parametrize(
    "new", ["no assignment", "[Broken", "Label=a \\\n\n", "=x", "Label=a\N{NO-BREAK SPACE}"], ids=repr
)
def test_a_line_that_podman_and_systemd_would_not_read_alike_is_refused(new: str) -> None:
    problem = refusal(QUADLET, own(CONTAINER, FIXED[CONTAINER], new))
    assert problem.code == "unit-changed-by-template"
    assert "is not what Podman and systemd read alike" in problem.message


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", "[Container]\n"], ids=repr)
def test_an_empty_template_says_everything_that_is_missing(text: str) -> None:
    keys = {
        match[1]
        for problem in refusals(QUADLET, {f"templates/{CONTAINER}": text})
        if (match := re.search(r" (\w+)= does not read back", problem.message))
    }
    assert {"Exec", "Image", "ContainerName", "Volume", "PublishPort", "Environment", "TimeoutStartSec"} <= keys


def test_what_is_wrong_with_a_template_is_said_once_for_all_hosts() -> None:
    more = "".join(f"  host{number}: {CPU}}}\n" for number in range(5))
    problem = refusal(f"{QUADLET.rstrip()}\n{more}", own(CONTAINER, IMAGE, "Image={{ unit.image }}"))
    assert problem.host is None
    assert problem.notes[-1] == "6 hosts use this: claw, host0, host1 and 3 more"


LOGIC = re.compile(r"[=!]=|[<>+*/~-]|\w\(|\b(?:macro|set|default|call|cuda|rocm|vulkan|sycl|qwen|copy|ngram|mtp)\b")
"""What no shipped template may say inside its marks: it owns the shape of a unit, and nothing that is decided."""


def logic(text: str) -> list[str]:
    return [part for part in re.findall(r"\{[{%].*?[%}]\}", text) if LOGIC.search(part[2:-2])]


def test_no_shipped_template_compares_calculates_calls_or_names_what_is_decided() -> None:
    names = [name for name in tracked() if name.parts[0] == "templates"]
    assert len(names) == len(shipped())
    assert [found for name in names for found in logic((ROOT / name).read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    "text",
    [
        "{% if a == 1 %}",
        "{{ a + b }}",
        "{{ a ~ b }}",
        "{{ f(a) }}",
        "{% macro m(x) %}",
        "{{ a | default(1) }}",
        "{% if vulkan %}",
    ],
)
def test_the_look_for_logic_finds(text: str) -> None:
    assert logic(f"x {text} y") == [text]


def test_templates_beside_the_fleet_are_found_wherever_it_is_rendered_from(tmp_path: Path) -> None:
    (tmp_path / "desk/templates").mkdir(parents=True)
    (tmp_path / "desk/fleet.yml").write_text(QUADLET, encoding="utf-8")
    for name, text in own(CONTAINER, FIXED[CONTAINER], "ReadOnlyTmpfs=false").items():
        (tmp_path / "desk" / name).write_text(text, encoding="utf-8")
    for where, fleet in ((tmp_path, "desk/fleet.yml"), (tmp_path / "desk", "fleet.yml"), (Path("/"), None)):
        done = run("render", fleet or str(tmp_path / "desk/fleet.yml"), "-o", str(tmp_path / "out"), cwd=where)
        assert done.returncode == 0, done.stderr
        (found,) = (tmp_path / "out").rglob("*.container")
        assert "ReadOnlyTmpfs=false" in found.read_text(encoding="utf-8")


def test_a_template_that_is_no_text_is_refused_at_its_line_and_one_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "fleet.yml").write_text(QUADLET, encoding="utf-8")
    template = tmp_path / "templates" / CONTAINER
    template.write_bytes(b"[Unit]\n\xff\n")
    done = run("check", "fleet.yml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[unit-changed-by-template]: byte 0xFF of a template is not UTF-8" in done.stderr
    assert f"--> templates/{CONTAINER}:2:1" in done.stderr
    template.unlink()
    template.mkdir()
    done = run("check", "fleet.yml", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (4, f"quadgen: cannot read templates/{CONTAINER}: Is a directory\n")


def test_templates_for_other_programs_beside_a_fleet_are_none_of_our_business() -> None:
    files = {"templates/nginx.conf.j2": "server { listen {{ port }}; {% if broken %} }"}
    assert accepted(QUADLET, files).trees == accepted(QUADLET).trees


@pytest.mark.parametrize(
    "reach",
    [
        "{{ unit.__class__.__mro__ }}",
        "{{ unit.notes.__class__.__base__.__subclasses__() }}",
        "{{ ''.__class__ | line }}",
    ],
)
def test_a_template_of_the_fleet_reaches_no_python(reach: str) -> None:
    """Rendering a stranger's branch in CI must not run a stranger's code."""
    files = own(CONTAINER, IMAGE, f"# {reach}\n{IMAGE}")
    problem = refusal(QUADLET, files)
    assert problem.code == "unit-changed-by-template"
    assert at(problem) == (f"templates/{CONTAINER}", line(CONTAINER, files, f"# {reach[:10]}"))


@pytest.mark.parametrize(
    ("name", "fleet", "old", "new", "key"),
    [
        (CONTAINER, QUADLET, "Notify={{ unit.notify | last }}", "Notify=true", "Notify"),
        (CONTAINER, QUADLET, "HealthCmd={{ unit.health.command | json_words }}", 'HealthCmd=["true"]', "HealthCmd"),
        (SERVICE, GPU, "DevicePolicy=closed", "DevicePolicy=closed\nDeviceAllow=/dev/mem rw", "DeviceAllow"),
        (SERVICE, GPU, "DeviceAllow={{ node | line }}", "", "DeviceAllow"),
    ],
    ids=["readiness", "probe", "a device more", "a device less"],
)
def test_readiness_and_devices_are_decided_words_too(name: str, fleet: str, old: str, new: str, key: str) -> None:
    problem = refusal(fleet, own(name, old, new))
    assert (problem.code, f"{key}= does not read back" in problem.message) == ("unit-changed-by-template", True)
