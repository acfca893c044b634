"""What systemd and Podman say of the services of this machine."""

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from quadgen.installed.declared import Declared, DeclaredFile
from quadgen.installed.loaded import PROPERTIES, RUNS, shown
from quadgen.installed.places import Account
from quadgen.installed.running import container_name
from quadgen.installed.seen import Container, Loaded, Process, Seen
from quadgen.onhost.accounts import groups
from quadgen.onhost.inside import Root
from quadgen.problems import Problem, Severity, Unavailable
from quadgen.verify.programs import Finished, Identity, run

_TIMEOUT: Final = 60.0
"""Seconds for one question; both answer in tenths of one where the machine has nothing else to do."""
_VERSION: Final = re.compile(r"podman version (\S+)")
_UNIT_LABEL: Final = "PODMAN_SYSTEMD_UNIT"
"""Podman labels each container with the unit that started it: podman-auto-update(1)."""

_Key = tuple[str | None, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """The questions about one host, asked by whoever runs quadgen."""

    declared: Declared
    accounts: Mapping[str, Account]
    environ: Mapping[str, str]
    problems: list[Problem] = field(default_factory=list)

    def version(self) -> str | None:
        """Podman's, e.g. `5.4.2`; None where no Quadlet needs it or nobody can tell."""
        podman = self._program("podman")
        if podman is None or not any(file.is_quadlet for file in self.declared.units):
            return None
        said = run([podman, "--version"], environ=_environment(None), timeout=_TIMEOUT)
        found = _VERSION.match(said.stdout)
        return found[1] if found else None

    def services(self, seen: Seen) -> Seen:
        """What was seen, with what systemd loaded and runs."""
        loaded: dict[_Key, Loaded] = {}
        left = seen.state.services if seen.state else ()
        units = [(file.user, file.unit or "") for file in self.declared.units]
        units += [(user, unit) for unit, user in left]
        for user in dict.fromkeys(user for user, _ in units):
            names = [*dict.fromkeys(unit for owner, unit in units if owner == user)]
            loaded.update(((user, each.unit), each) for each in self._loaded(user, names))
        seen = replace(seen, loaded=loaded)
        return replace(self._running(seen), problems=tuple(self.problems))

    def _loaded(self, user: str | None, names: Sequence[str]) -> Iterator[Loaded]:
        systemctl = self._program("systemctl")
        if systemctl is None:
            self._say("no systemctl on PATH: what systemd loaded and runs was not compared")
            return
        words = [systemctl, *(["--user"] if user else []), "show", f"--property={','.join(PROPERTIES)}", "--", *names]
        said = self._ask(user, words, f"systemd{f' of {user}' if user else ''}")
        if said is None:
            return
        found = [*shown(said.stdout)]
        if said.status or len(found) != len(names):
            self._say(f"systemd{f' of {user}' if user else ''} does not answer: {_complaint(said)}")
            return
        for name, each in zip(names, found, strict=True):
            yield replace(each, unit=name)  # an alias answers with the name of its unit

    def _running(self, seen: Seen) -> Seen:
        running: dict[_Key, Process | Container | None] = {}
        generated: dict[_Key, bytes] = {}
        contained: dict[str | None, list[DeclaredFile]] = {}
        root = Root(path="/", host=self.declared.host)
        for file in self.declared.units:
            key = (file.user, file.unit or "")
            loaded = seen.loaded.get(key)
            if loaded is None or loaded.load != "loaded" or loaded.active not in RUNS:
                continue
            if not file.is_quadlet:
                process = _process(loaded.process)
                if process is not None:
                    running[key] = process
            elif (found := root.followed(loaded.fragment.lstrip("/"))) is not None:
                generated[key] = found.data
                contained.setdefault(file.user, []).append(file)
        for user, files in contained.items():
            names = {
                (user, file.unit or ""): container_name(generated[user, file.unit or ""], file.unit or "")
                for file in files
            }
            held = self._containers(user, [*names.values()])
            if held is not None:
                running.update((key, held.get(name)) for key, name in names.items())
        self.problems.extend(root.problems)
        return replace(seen, running=running, generated=generated)

    def _containers(self, user: str | None, names: Sequence[str]) -> dict[str, Container] | None:
        """The containers of these names; None where Podman cannot be asked."""
        whose = _podman_of(user)
        podman = self._program("podman")
        if podman is None:
            self._say("no podman on PATH: what the containers run was not compared")
            return None
        if user is None and os.geteuid() != 0:
            self._say("only root can ask for the containers of the system: what they run was not compared")
            return None
        said = self._ask(user, [podman, "container", "inspect", *names], whose)
        if said is None:
            return None
        try:
            found = json.loads(said.stdout)
            images = self._images(user, podman, [each["ImageName"] for each in found])
            return {each["Name"]: _container(each, images) for each in found}
        except (ValueError, LookupError, TypeError, AttributeError):
            self._say(f"{whose} does not answer: {_complaint(said)}")
            return None

    def _images(self, user: str | None, podman: str, names: Iterable[str]) -> dict[str, str]:
        """The id of the image that each of these names has today; one without an image is not there."""
        found = {}
        for name in dict.fromkeys(names):
            # one by one: with several stores a list has a name twice, and does not say which image Podman would take
            said = self._ask(user, [podman, "image", "inspect", "--format={{.Id}}", "--", name], _podman_of(user))
            if said is not None and said.status == 0:
                found[name] = said.stdout.strip().removeprefix("sha256:")
        return found

    def _ask(self, user: str | None, words: Sequence[str], whose: str) -> Finished | None:
        """Ask as `user`; None where that cannot be, which is said."""
        account = self.accounts.get(user) if user else None
        own = os.geteuid()
        if user and account is None:
            self._say(f"this machine has no user {user}: {whose} cannot be asked")
            return None
        if account and own not in {0, account.uid}:
            self._say(f"only root and {user} can ask {whose}")
            return None
        identity = (
            Identity(uid=account.uid, gid=account.gid, groups=groups(account))
            if account and own != account.uid
            else None
        )
        try:
            said = run(words, environ=_environment(account), timeout=_TIMEOUT, identity=identity)
        except Unavailable as unavailable:
            self._say(str(unavailable))
            return None
        if said.status is None:
            self._say(f"{whose} does not answer within {_TIMEOUT:g} seconds")
            return None
        return said

    def _program(self, name: str) -> str | None:
        return shutil.which(name, path=self.environ.get("PATH", os.defpath))

    def _say(self, message: str) -> None:
        problem = Problem(code="not-verified", message=message, severity=Severity.WARNING, host=self.declared.host)
        if problem not in self.problems:
            self.problems.append(problem)


def _environment(account: Account | None) -> dict[str, str]:
    if account is None:
        return {"HOME": "/root", "SYSTEMD_COLORS": "0"}
    runtime = f"/{account.runtime}"
    return {
        "HOME": f"/{account.home}",
        "USER": account.name,
        "XDG_RUNTIME_DIR": runtime,
        "DBUS_SESSION_BUS_ADDRESS": f"unix:path={runtime}/bus",
        "SYSTEMD_COLORS": "0",
    }


def _process(number: int) -> Process | None:
    """What a process was started with; None where there is none, or none any more."""
    if number <= 0:
        return None
    try:
        words = Path(f"/proc/{number}/cmdline").read_bytes()
    except OSError:
        return None
    environment: dict[str, str] | None = None
    try:
        held = _texts(Path(f"/proc/{number}/environ").read_bytes())
        environment = dict(each.split("=", 1) for each in held if "=" in each)
    except OSError:
        environment = None  # only its owner and root may see it
    return Process(words=_texts(words), environment=environment) if words else None


def _texts(data: bytes) -> tuple[str, ...]:
    return tuple(data.removesuffix(b"\0").decode("utf-8", "backslashreplace").split("\0"))


def _container(said: Mapping[str, Any], images: Mapping[str, str]) -> Container:
    config = said["Config"]
    return Container(
        name=said["Name"],
        unit=(config.get("Labels") or {}).get(_UNIT_LABEL),
        running=bool(said["State"]["Running"]),
        words=tuple(config.get("CreateCommand") or ()),
        image=said["Image"].removeprefix("sha256:"),
        image_name=said["ImageName"],
        named=images.get(said["ImageName"]),
    )


def _podman_of(user: str | None) -> str:
    return f"Podman{f' of {user}' if user else ''}"


def _complaint(said: Finished) -> str:
    """The last line that a program wrote."""
    lines = [line for line in (said.stderr + said.stdout).split("\n") if line.strip()]
    return lines[-1].strip() if lines else f"status {said.status}, and no word"
