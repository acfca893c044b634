"""systemctl, journalctl and loginctl."""

import json
import sys
from typing import Any

from ansible_stand_ins.machine import Machine, complain
from ansible_stand_ins.unit_states import Manager, properties


def systemctl(machine: Machine, words: list[str], user: str | None) -> int:
    """Do what the words say; the status is systemctl's."""
    manager = Manager(machine, user)
    asked = [word for word in words if not word.startswith("-")]
    options = dict(word.lstrip("-").partition("=")[::2] for word in words if word.startswith("-"))
    verb, units = (asked[0] if asked else ""), asked[1:]
    try:
        match verb:
            case "show":
                wanted = options["property"].split(",")
                if not units:
                    sys.stdout.write("Version=257 (257.13-1)\n" if "Version" in wanted else "\n")
                blocks = [properties(manager, unit) for unit in units]
                lines = [
                    "".join(f"{key}={value}\n" for key, value in block.items() if key in wanted) for block in blocks
                ]
                sys.stdout.write("\n".join(lines))
                return 0
            case "daemon-reload":
                manager.reload()
                return 0
            case "start" | "stop" | "reset-failed" | "enable" | "disable" | "is-active":
                return max((_one(manager, verb, unit) for unit in units), default=0)
        return complain(f"Unknown command verb '{verb}', did you mean 'show'?", 1)
    finally:
        manager.keep()


def _lines(block: dict[str, Any], wanted: list[str]) -> str:
    return "".join(f"{key}={value}\n" for key, value in block.items() if key in wanted)


def _one(manager: Manager, verb: str, unit: str) -> int:
    record = manager.units.get(unit)
    if record is None or (record["text"] is None and verb in ("start", "enable")):
        if verb == "start":
            return complain(f"Failed to start {unit}: Unit {unit} not found.", 5)
        if verb == "stop":
            return complain(f"Failed to stop {unit}: Unit {unit} not loaded.", 5)
        if verb == "reset-failed":
            return complain(f"Failed to reset failed state of unit {unit}: Unit {unit} not loaded.", 1)
        if verb == "is-active":
            sys.stdout.write("inactive\n")
            return 3
        return complain(f"Failed to {verb} unit: Unit {unit} does not exist", 1)
    match verb:
        case "start":
            return manager.start(unit)
        case "stop":
            manager.stop(unit)
        case "reset-failed":
            manager.reset(unit)
        case "is-active":
            sys.stdout.write(f"{record['active']}\n")
            return 0 if record["active"] == "active" else 3
        case _:
            manager.link(unit, there=verb == "enable")
    return 0


def journalctl(machine: Machine, words: list[str], _: str | None) -> int:
    """Print what a unit left behind, as JSON; a user's is named by its fields."""
    units = [word.partition("=")[2] for word in words if word.startswith(("--unit=", "_SYSTEMD_USER_UNIT="))]
    known: dict[str, dict[str, Any]] = machine.read("units", {})
    for unit in units:
        records = [manager[unit] for manager in known.values() if unit in manager]
        told = [{"MESSAGE": line, "SYSLOG_IDENTIFIER": "llama"} for record in records for line in record["journal"]]
        sys.stdout.write("".join(f"{json.dumps(each)}\n" for each in told))
    return 0


def loginctl(machine: Machine, words: list[str], _: str | None) -> int:
    """Say whether a user lingers: those that are in `names.json` under `linger`, all where nothing is."""
    asked = [word for word in words if not word.startswith("-")]
    lingering = machine.read("names", {}).get("linger")
    if asked[:1] == ["show-user"] and len(asked) == 2:
        yes = lingering is None or asked[1] in lingering
        value = "yes" if yes else "no"
        sys.stdout.write(f"{value}\n" if "--value" in words else f"Linger={value}\n")
        return 0
    return complain(f"Unknown command verb '{' '.join(asked)}'.", 1)
