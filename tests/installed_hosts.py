"""Rendered hosts and what was seen of them, as values, and captures of a booted Debian 13.

Those were made with Podman 5.4.2 and systemd 257; of what Podman printed they have the fields that are read.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quadgen.installed.comparing import differences
from quadgen.installed.declared import Declared, declared
from quadgen.installed.loaded import shown
from quadgen.installed.places import Account
from quadgen.installed.seen import Container, Found, Kind, Loaded, Process, Seen
from quadgen.problems import Collector, Problem

CAPTURED = Path(__file__).parent / "data" / "onhost"
QUADLET = "etc/containers/systemd/chat.container"
NATIVE = "etc/systemd/system/chat.service"
AT_HOME = "home/llm/.config/containers/systemd/chat.container"
LLM = Account(name="llm", uid=1000, gid=1000, home="home/llm")
TEXT = (CAPTURED / "chat.container").read_bytes()
GENERATED = (CAPTURED / "generated-chat.service").read_bytes()
SERVICE = b"""\
[Unit]
Description=chat

[Service]
Environment="GREETING=100%% of it" HOME=%C/chat
ExecStart=/opt/llama-server --model /srv/x.gguf --api-key-file %d/key --alias "a $$b" --port 8080

[Install]
WantedBy=multi-user.target
"""
WORDS = (
    *("/opt/llama-server", "--model", "/srv/x.gguf", "--api-key-file", "/run/credentials/chat.service/key"),
    *("--alias", "a $b", "--port", "8080"),
)


def host(path: str = QUADLET, data: bytes = TEXT, *, user: str | None = None, **service: Any) -> Declared:
    """A host of one file, `chat`."""
    entry = {"path": path, "mode": "0644", "service": "chat", "unit": "chat.service", "restart": "new" * 8}
    services = [{"unit": "chat.service", "autostart": True, "conflicts": [], "user": user, **service}]
    whole = {"version": 1, "host": "claw", "files": [entry], "services": services}
    problems = Collector()
    found = declared("claw", "rendered/claw", json.dumps(whole).encode(), {path: data}.get, problems)
    assert found is not None
    assert not problems.problems
    return found


def there(path: str, data: bytes = b"", **rest: Any) -> Found:
    return Found(**{"path": path, "kind": Kind.FILE, "data": data, "mode": 0o644, **rest})


def seen(one: Declared, *others: Found, root: str = "/mnt", **rest: Any) -> Seen:
    """A host on which the declared files are as they should be."""
    files = {file.path: there(file.path, file.data) for file in one.files}
    key = (one.files[0].user, "chat.service")
    accounts = {"llm": LLM} if one.files[0].user else {}
    return Seen(**{"root": root, "files": files, "others": {key: others}, "accounts": accounts, **rest})


def captured(name: str, unit: str) -> Loaded:
    """A unit of a capture of `systemctl show`."""
    (found,) = [each for each in shown((CAPTURED / name).read_text()) if each.unit == unit]
    return found


def loaded(one: Declared, **rest: Any) -> Mapping[tuple[str | None, str], Loaded]:
    """`chat` as systemd has it where all is well."""
    (file,) = one.files
    fragment = f"/run/systemd/generator/{file.unit}" if file.is_quadlet else f"/{file.path}"
    well = {"unit": "chat.service", "load": "loaded", "active": "active", "sub": "running", "fragment": fragment}
    well |= {
        "source": f"/{file.path}" if file.is_quadlet else "",
        "enabled": "generated" if file.is_quadlet else "enabled",
    }
    return {(file.user, "chat.service"): Loaded(**{**well, **rest})}


def running(one: Declared, **rest: Any) -> Seen:
    """A host on which `chat` runs, as it should unless `rest` says otherwise."""
    (file,) = one.files
    key = (file.user, "chat.service")
    what: Process | Container | None = Process(words=WORDS, environment={"GREETING": "100% of it", "HOME": "/x"})
    if file.is_quadlet:
        (said,) = json.loads((CAPTURED / "container-inspect.json").read_text())
        what = Container(
            name="chat", unit="chat.service", running=True, words=tuple(said["Config"]["CreateCommand"]),
            image=said["Image"], image_name=said["ImageName"], named=said["Image"],
        )  # fmt: skip
    whole = {"loaded": loaded(one), "running": {key: what}, "generated": {key: GENERATED}, "root": "/"}
    files = {each.path: there(each.path, each.data, owner=LLM.uid if each.user else 0) for each in one.files}
    return seen(one, **{**whole, "files": files, **rest})


def said(one: Declared, what: Seen) -> list[Problem]:
    return differences(one, what)


def told(one: Declared, what: Seen) -> list[tuple[str, str]]:
    """Code and message of each problem."""
    return [(problem.code, problem.message) for problem in said(one, what)]
