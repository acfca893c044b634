"""The words of a measured container, where no generator is needed to see that they are right."""

from dataclasses import replace
from functools import cache

import pytest

from fleets import CPU, accepted, one
from quadgen import quadlet_keys
from quadgen.measuring.containers import LEFT_OUT, MEASURED, container_words
from quadgen.resolution import Override, Resolution

NEVER = frozenset(
    {"ContainersConfModule", "EnvironmentFile", "EnvironmentHost", "Exec", "Group", "Image", "Pod", "Rootfs"}
)
"""Keys that no fleet may set, and Group=, which counts beside User= alone."""


@cache
def service(more: str = "") -> Resolution:
    """The only service of a fleet; `more` stands in its host."""
    ((found,),) = accepted(one(f"{CPU}{more}}}")).resolved.hosts.values()
    return found


def with_key(key: str, *values: str) -> tuple[str, ...]:
    """The words of a service whose fleet sets a key."""
    plain = service()
    return container_words(replace(plain, overrides=(Override("Container", key, values),)))


def test_the_image_is_the_last_word_and_every_other_one_an_option() -> None:
    *options, image = container_words(service())
    assert image == "ghcr.io/ggml-org/llama.cpp:server-b10715"
    assert all(option.startswith("--") for option in options)
    assert tuple(options[: len(MEASURED)]) == MEASURED


def test_it_listens_on_the_host_publishes_nothing_and_is_found_by_none_of_the_service_s_labels() -> None:
    words = container_words(service(", network: own, labels: {a: b}, auto_update: registry"))
    assert not [word for word in words if "publish" in word or "label" in word or "own" in word or "health-" in word]


def test_the_key_of_the_server_stays_away_and_other_secrets_come_along() -> None:
    words = container_words(service(", api_key: {secret: key}, secrets: {HF_TOKEN: hf, /etc/x.pem: key2}"))
    assert [word for word in words if word.startswith("--secret")] == [
        "--secret=hf,type=env,target=HF_TOKEN",
        "--secret=key2,type=mount,target=/etc/x.pem",
    ]


@pytest.mark.parametrize(
    ("said", "meant"), [("never", "never"), ("missing", "missing"), ("always", "missing"), ("newer", "missing")]
)
def test_an_image_is_pulled_once_at_most(said: str, meant: str) -> None:
    pulls = [word for word in container_words(service(f", pull: {said}")) if word.startswith("--pull")]
    assert pulls == [f"--pull={meant}"]


def test_an_older_podman_is_told_the_same() -> None:
    limits = ", limits: {memory: 8GiB, cpus: 2, pids: 100, memlock: unlimited}"
    new = container_words(service(f", podman: '5.8.6'{limits}"))
    assert container_words(service(f", podman: '5.4.2'{limits}")) == new
    assert {"--memory=8589934592", "--cpus=2", "--pids-limit=100", "--ulimit=memlock=-1:-1"} <= set(new)


@pytest.mark.parametrize("key", sorted(quadlet_keys.keys("Container") - NEVER))
def test_every_key_of_a_container_is_carried_or_left_out_for_a_reason(key: str) -> None:
    plain = set(container_words(service()))
    switch = quadlet_keys.reader(key) == "bool"
    changed = [set(with_key(key, value)) != plain for value in (("true", "false") if switch else ("x=y",))]
    assert any(changed) != (key in LEFT_OUT or key.startswith("Health"))


def test_a_volume_that_is_a_unit_has_the_name_that_podman_gives_it() -> None:
    words = container_words(service(", volumes: ['x.volume:/x', '/srv/y.volume:/y']"))
    assert {"--volume=systemd-x:/x", "--volume=/srv/y.volume:/y"} <= set(words)
