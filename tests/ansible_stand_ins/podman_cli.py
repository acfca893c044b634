"""Podman: images by user, and lists of secrets and networks."""

import hashlib
import sys

from ansible_stand_ins.machine import Machine, complain


def podman(machine: Machine, words: list[str], user: str | None) -> int:
    """Do what the words say; the status is Podman's."""
    images: dict[str, list[str]] = machine.read("images", {})
    mine = images.setdefault(user or "", [])
    match [word for word in words if not word.startswith("-")]:
        case [] if "--version" in words:
            sys.stdout.write("podman version 5.4.2\n")
        case ["image", "exists", name]:
            return 0 if name in mine else 1
        case ["image", "inspect", name]:
            if name not in mine:
                return complain(f"Error: {name}: image not known", 125)
            sys.stdout.write(hashlib.sha256(name.rpartition("@")[2].encode()).hexdigest() + "\n")
        case ["pull", name]:
            if any(text in name for text in machine.read("registry", [])):
                where, _, tag = name.rpartition(":")
                why = f"reading manifest {tag} in {where}: manifest unknown"
                return complain(f"Error: initializing source docker://{name}: {why}", 125)
            mine.append(name)
            machine.write("images", images)
        case ["image", "rm", name] | ["rmi", name]:
            if name not in mine:
                return complain(f"Error: {name}: image not known", 1)
            if name in machine.read("used", []):
                return complain("Error: image used by 3f1c: image is in use by a container", 2)
            mine.remove(name)
            machine.write("images", images)
            sys.stdout.write(f"Untagged: {name}\n")
        case [("secret" | "network") as what, "ls"]:
            sys.stdout.write("".join(f"{name}\n" for name in machine.read("names", {}).get(what, [])))
        case unknown:
            return complain(f'Error: unrecognized command "podman {" ".join(unknown)}"', 125)
    return 0
