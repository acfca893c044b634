"""The units of a manager: which files they were read from, how their starts go, and what `systemctl show` says."""

import os
import pwd
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from ansible_stand_ins.machine import Machine

SERVER: Final = Path(__file__).with_name("health_server.py")
_PORT: Final = re.compile(r"(?:--port |PublishPort=\S*?:?)(\d+)(?=:\d+\s|\s)")
_CONFLICTS: Final = re.compile(r"^Conflicts=(.+)$", re.MULTILINE)
_FAILED: Final = {"active": "failed", "sub": "failed", "result": "exit-code", "status": 1}
_FRESH: Final = {"result": "success", "status": 0, "restarts": 0, "assert": "yes", "job": "", "journal": []}
_UP: Final = {"active": "active", "sub": "running"}
_HOW: Final[dict[str, dict[str, Any]]] = {
    "exits": {**_FAILED, "journal": ["main: loading model", "error: cannot load model"]},
    "loops": {"active": "activating", "sub": "auto-restart", "result": "exit-code", "status": 1},
    "hangs": {"active": "activating", "sub": "start", "job": "17"},
    "asserts": {"assert": "no", "journal": ["Assertion failed for this unit."]},
}


class Manager:
    """The units of the system (None) or of a user."""

    def __init__(self, machine: Machine, user: str | None) -> None:
        self.machine = machine
        self.user = user
        self._all: dict[str, dict[str, dict[str, Any]]] = machine.read("units", {})
        known = self._all.get(user or "")
        self.units: dict[str, dict[str, Any]] = self._all.setdefault(user or "", {})
        if known is None:
            self.reload()

    def keep(self) -> None:
        """Write down what became of the units."""
        self.machine.write("units", self._all)

    def files(self) -> dict[str, Path]:
        """The file of every unit; one of systemd's own hides what a generator makes."""
        found: dict[str, Path] = {}
        for below, suffix in (("containers/systemd", ".container"), ("systemd/system", ".service")):
            for top in self._tops(below):
                found |= {f"{path.stem}.service": path for path in sorted(top.rglob(f"*{suffix}")) if path.is_file()}
        return found

    def _tops(self, below: str) -> list[Path]:
        root = self.machine.root
        if self.user is None:
            return [root / "etc" / below]
        homes = {root / "home" / self.user, root / pwd.getpwnam(self.user).pw_dir.lstrip("/")}
        return [home / ".config" / below.replace("systemd/system", "systemd/user") for home in sorted(homes)]

    def reload(self) -> None:
        """Read every file anew."""
        files = self.files()
        for unit, path in files.items():
            record = self.units.setdefault(unit, _new())
            record |= {"text": path.read_text(encoding="utf-8"), "source": f"/{path.relative_to(self.machine.root)}"}
        for unit in set(self.units) - set(files):
            self.units[unit] |= {"text": None, "source": ""}
            if self.units[unit]["active"] == "inactive":
                del self.units[unit]

    def start(self, unit: str) -> int:
        """Start a unit with what was read of it."""
        record = self.units[unit]
        if record["active"] in ("active", "activating"):
            return 0
        how = self._how(unit, record["text"])
        if how == "refused":
            sys.stderr.write(f"Failed to start {unit}: Unit mnt-nas.mount not found.\n")
            return 5
        for other in self._rivals(unit):
            self.stop(other)
        self.units[unit] = record = {**record, **_FRESH, **_HOW.get(how or "", _UP), "ran": record["text"]}
        port = _PORT.search(record["text"])
        if record["active"] == "active" and port is not None:
            status = "503" if how == "unwell" else "200"
            command = [sys.executable, "-S", str(SERVER), port[1], status, str(self.machine.place)]
            said = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=False).stdout.strip()
            record |= {"pid": int(said)} if said.isdigit() else {**_FAILED, "pid": 0, "journal": [said]}
        return 0

    def stop(self, unit: str) -> None:
        """End a unit and what it serves."""
        record = self.units[unit]
        if record["pid"]:
            with suppress(ProcessLookupError):
                os.kill(record["pid"], signal.SIGKILL)
            while _alive(record["pid"]):
                time.sleep(0.005)
        if self._how(unit, record["text"] or "") == "stubborn" and record["active"] == "active":
            record |= {"active": "deactivating", "sub": "stop-sigterm", "pid": 0}
        elif record["active"] != "failed":
            record |= {"active": "inactive", "sub": "dead", "result": "success", "pid": 0, "job": "", "ran": None}

    def reset(self, unit: str) -> None:
        """Forget that a unit failed."""
        record = self.units[unit]
        record |= {"result": "success", "restarts": 0}
        if record["active"] == "failed":
            record |= {"active": "inactive", "sub": "dead", "status": 0}

    def link(self, unit: str, *, there: bool) -> None:
        """Enable or disable a unit."""
        path = self._link(unit)
        path.unlink(missing_ok=True)
        if there:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(self.units[unit]["source"])

    def _link(self, unit: str) -> Path:
        top = self._tops("systemd/system")[0]
        return top / f"{'default' if self.user else 'multi-user'}.target.wants" / unit

    def enabled(self, unit: str) -> str:
        """The state of a unit's file."""
        record = self.units[unit]
        if record["source"].endswith(".container"):
            return "generated"
        if self._link(unit).is_symlink():
            return "enabled"
        return "" if record["text"] is None else "disabled" if "WantedBy=" in record["text"] else "static"

    def _how(self, unit: str, text: str) -> str | None:
        rules = self.machine.read("rules", [])
        return next((rule["how"] for rule in rules if rule["match"] == unit or rule["match"] in text), None)

    def _rivals(self, unit: str) -> list[str]:
        named = {name: _CONFLICTS.findall(each["text"] or "") for name, each in self.units.items()}
        rivals = [name for name in self.units if name in named[unit] or unit in named[name]]
        return [name for name in rivals if self.units[name]["active"] in ("active", "activating")]


def properties(manager: Manager, unit: str) -> dict[str, Any]:
    """What systemctl shows of a unit, in its order. A unit that loops has one more restart at each look."""
    file = manager.files().get(unit)
    record = manager.units.get(unit)
    if record is None and unit.startswith("user@"):
        record = {**_new(), "text": "", "source": "/usr/lib/systemd/system/user@.service", "active": "active"}
    elif record is None:
        record = _new()
    known = unit in manager.units
    there = record["text"] is not None
    generated = record["source"].endswith(".container")
    record["restarts"] += record["sub"] == "auto-restart"
    stale = known and (file.read_text(encoding="utf-8") if file else None) != record["text"]
    return {
        "MainPID": record["pid"],
        "Result": record["result"],
        "NRestarts": record["restarts"],
        "ExecMainStatus": record["status"],
        "Id": unit,
        "LoadState": "loaded" if there else "not-found",
        "ActiveState": record["active"],
        "SubState": record["sub"],
        "FragmentPath": f"/run/systemd/generator/{unit}" if generated else record["source"],
        "SourcePath": record["source"] if generated else "",
        "DropInPaths": "",
        "UnitFileState": manager.enabled(unit) if known else "",
        "Job": record["job"],
        "NeedDaemonReload": "yes" if stale else "no",
        "ConditionResult": "yes" if record["ran"] else "no",
        "AssertResult": record["assert"] if record["ran"] else "no",
        "LoadError": "" if there else f'org.freedesktop.systemd1.NoSuchUnit "Unit {unit} not found."',
    }


def _new() -> dict[str, Any]:
    return {"text": None, "source": "", "active": "inactive", "sub": "dead", "ran": None, "pid": 0, **_FRESH}


def _alive(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    return False
