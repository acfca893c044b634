"""What a measured container is started with, beside what the real generator makes of its unit."""

import re
from collections import Counter
from pathlib import Path

import pytest

from everything import everything
from fleets import CPU, ENGINES, accepted, started, units
from parts import Quadlet, each_quadlet
from quadgen.measuring.containers import MEASURED, container_words
from quadgen.resolution import Resolution
from source import ROOT

MOVED = {
    "--name", "--cidfile", "--replace", "--rm", "--cgroups", "-d", "--sdnotify", "--publish", "--network", "--label",
    "--stop-timeout", "--stop-signal", "--pull", "--add-host", "--dns", "--dns-option", "--dns-search", "--log-driver",
    "--log-opt", "--network-alias",
}  # fmt: skip
"""Options of a unit's container that a measured one does without, beside those of its health."""
SWITCHES = {"--replace", "--rm", "-d", "--init", "--read-only", "--read-only-tmpfs"}
OTHERWISE = {"-v": "--volume", "--read-only-tmpfs": "--read-only-tmpfs=true"}
"""What quadgen spells in another way."""
KEY = re.compile("--secret=[a-z-]+,type=mount,target=/run/secrets/.*")
"""The server's own key, which is for its clients."""


def unit_options(words: list[str]) -> Counter[str]:
    """The options of a generated command line, each as one word, without those that are `MOVED`."""
    rest = iter(words[words.index("run") + 1 :])
    found: Counter[str] = Counter()
    for word in rest:
        name = OTHERWISE.get(word, word)
        whole = name if "=" in word or word in SWITCHES else f"{name}={next(rest)}"
        option = whole.partition("=")[0]
        if option not in MOVED and not option.startswith("--health") and not KEY.fullmatch(whole):
            found[whole] += 1
    return found


def measured_options(resolution: Resolution) -> Counter[str]:
    """The same of a measured container: without what all of them have."""
    *options, image = container_words(resolution)
    assert image == resolution.image
    mine = {*MEASURED, "--pull=missing", "--pull=never"}
    return Counter(option for option in options if option not in mine)


def alone(text: str) -> str:
    """A unit whose networks and volumes are no units, as the generator would call them."""
    return re.sub(r"(?m)^Network=(.+)\.network$", r"Network=systemd-\1", text).replace(
        "Volume=x.volume:", "Volume=systemd-x:"
    )


def judge(quadlet: Quadlet, directory: Path, fleet: str) -> int:
    """Compare every container of a fleet; how many there were."""
    compiled = accepted(fleet)
    directory.mkdir(exist_ok=True)
    texts = {
        f"{path.partition('/')[0]}_{Path(path).stem}": alone(text)
        for path, text in units(compiled).items()
        if path.endswith(".container")
    }
    run = quadlet.generate(directory, texts)
    assert (run.status, run.messages) == (0, [])
    services = {f"{each.host.name}_{each.name}": each for found in compiled.resolved.hosts.values() for each in found}
    for name in texts:
        service = services[name]
        words = started(run.services[f"{name}.service"], service.image).podman
        assert measured_options(service) == unit_options(words), name
    return len(texts)


@each_quadlet
def test_a_measured_container_has_the_options_that_the_generator_makes_of_its_unit(
    quadlet: Quadlet, tmp_path: Path
) -> None:
    assert judge(quadlet, tmp_path, everything(quadlet.version)) == 10


@each_quadlet
@pytest.mark.parametrize("name", ["one-host", "two-backends", "rootless", "halogen"])
def test_so_have_those_of_the_examples(quadlet: Quadlet, name: str, tmp_path: Path) -> None:
    assert judge(quadlet, tmp_path, (ROOT / "examples" / name / "fleet.yml").read_text(encoding="utf-8"))


OVERRIDES = [
    "AddCapability: IPC_LOCK",
    'Annotation: "a=b"',
    "DropCapability: null",
    "GlobalArgs: --log-level=debug",
    'User: "1000", Group: "44"',
    'User: "1000"',
    "GroupAdd: video",
    "NoNewPrivileges: false",
    "PodmanArgs: [--dns=10.0.0.1 --oom-score-adj 5, --http-proxy=false]",
    "ReadOnly: null",
    "SeccompProfile: /etc/seccomp.json",
    "Timezone: local",
    "Ulimit: [nproc=5, core=6]",
    'UserNS: "keep-id:uid=5"',
]


@each_quadlet
def test_keys_of_the_fleet_s_own_reach_it_as_they_reach_the_unit(quadlet: Quadlet, tmp_path: Path) -> None:
    hosts = [
        f"  h{number}: {CPU}, podman: '{quadlet.version}', unit: {{Container: {{{line}}}}}}}\n"
        for number, line in enumerate(OVERRIDES)
    ]
    assert judge(quadlet, tmp_path, f"{ENGINES}hosts:\n{''.join(hosts)}") == len(OVERRIDES)
