"""What the manifest of a host says of its services: how each is started, asked, and what it needs."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from fleets import NONE, accepted
from locks import dense, locked

HEAD = """\
version: 1
engines: {cpu: {kind: llama.cpp, build: b11434, backends: [cpu], image: 'quay.io/l/s:b1', binary: /opt/llama-server}}
models: {m: {file: m.gguf}, big: {file: big-00001-of-00002.gguf}}
defaults: {backend: cpu, context: 4096, model: m}
hosts:
  claw:"""


def one(fields: str) -> str:
    return f"{HEAD} {fields}\n"


def manifest(text: str, files: Mapping[str, str | bytes] = NONE) -> dict[str, Any]:
    (tree,) = accepted(text, files).trees
    found: dict[str, Any] = json.loads(tree.manifest)
    return found


def service(fields: str) -> dict[str, Any]:
    (found,) = manifest(one(fields))["services"]
    return dict(found)


def test_a_container_is_listed_with_all_that_starting_it_takes() -> None:
    found = service("{profile: none, start_timeout: 20m, stop_timeout: 40s, pull: newer}")
    assert found == {
        "after": [], "autostart": True, "conflicts": [], "health": "http://127.0.0.1:8080/health",
        "image": "quay.io/l/s:b1", "pull": "newer", "start_timeout": 1200, "stop_timeout": 40,
        "unit": "llama-server.service", "user": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "health"),
    [
        ("{bind: 0.0.0.0, api_key: false}", "http://127.0.0.1:8080/health"),
        ("{bind: '::', api_key: false}", "http://[::1]:8080/health"),
        ("{bind: '::1', port: 9000}", "http://[::1]:9000/health"),
        ("{bind: 10.1.2.3, api_key: false}", "http://10.1.2.3:8080/health"),
        ("{flags: {api-prefix: /llm}}", "http://127.0.0.1:8080/llm/health"),
        ("{network: host, port: 81}", "http://127.0.0.1:81/health"),
        ("{publish: false}", None),
        ("{health: false}", None),
    ],
)
def test_its_health_is_asked_where_the_host_reaches_it(fields: str, health: str | None) -> None:
    assert service(fields)["health"] == health


def test_a_service_with_a_certificate_is_asked_over_tls() -> None:
    flags = "ssl-key-file: /srv/tls/key.pem, ssl-cert-file: /srv/tls/cert.pem"
    found = service(f"{{volumes: ['/srv/tls:/srv/tls:ro'], flags: {{{flags}}}}}")
    assert found["health"] == "https://127.0.0.1:8080/health"


def test_a_native_service_has_no_image_and_a_user_of_its_own_where_it_is_rootless() -> None:
    fields = """
    runtime: systemd
    rootless: llm
    services:
      chat: {after: [embed, mnt-nas.mount], autostart: false}
      embed: {port: 8081, conflicts: [chat]}
"""
    chat, embed = manifest(HEAD + fields)["services"]
    assert (chat["image"], chat["pull"], chat["user"], chat["autostart"]) == (None, None, "llm", False)
    assert chat["after"] == ["embed.service", "mnt-nas.mount"]
    assert (embed["unit"], embed["conflicts"]) == ("embed.service", ["chat.service"])


def test_every_service_has_its_unit_among_the_files() -> None:
    found = manifest(one("{}"))
    assert [each["unit"] for each in found["services"]] == [each["unit"] for each in found["files"]]


def test_what_is_recorded_of_a_file_says_how_big_it_must_be() -> None:
    recorded = manifest(one("{}"), locked({"m.gguf": dense(size=17 * 2**30)}))
    assert recorded["requires"]["checkpoints"] == [{"files": ["/srv/models/m.gguf"], "size": 17 * 2**30}]
    assert manifest(one("{}"))["requires"]["checkpoints"] == []


def test_all_shards_of_a_checkpoint_are_one_entry() -> None:
    lock = locked({"big-00001-of-00002.gguf": dense()})
    (found,) = manifest(one("{model: big}"), lock)["requires"]["checkpoints"]
    assert found["files"] == ["/srv/models/big-00001-of-00002.gguf", "/srv/models/big-00002-of-00002.gguf"]
