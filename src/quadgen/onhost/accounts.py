"""The users of a host, whose managers run its rootless services."""

import os
import pwd
from collections.abc import Iterator
from dataclasses import replace

from quadgen.installed.declared import Declared
from quadgen.installed.places import Account
from quadgen.onhost.inside import Root

_FIELDS = 7
"""Of a line of passwd(5)."""


def accounts(declared: Declared, root: Root) -> dict[str, Account]:
    """The users of the declared services, by name; those that the host does not have are not there.

    Of the running system all that its name service knows, of another root those of its /etc/passwd. Where the
    manifest does not say the user, it is whoever has the home directory, or is called as it is.
    """
    found: dict[str, Account] = {}
    for file in declared.files:
        if file.user is not None and file.user not in found:
            account = next((each for each in _known(root, file.user) if each.name == file.user), None)
            if account is None:
                account = next((each for each in _known(root, None) if each.home == file.home), None)
            if account is not None:
                # the files are where the tree has them: /home may be a link to /var/home, which passwd(5) has
                found[file.user] = replace(account, home=file.home) if file.home else account
    return found


def groups(account: Account) -> tuple[int, ...]:
    """The groups that a user of this machine is in."""
    return tuple(os.getgrouplist(account.name, account.gid))


def _known(root: Root, name: str | None) -> Iterator[Account]:
    if root.path == "/":
        try:
            entries = [pwd.getpwnam(name)] if name is not None else pwd.getpwall()
        except KeyError:
            return
        for entry in entries:
            yield Account(name=entry.pw_name, uid=entry.pw_uid, gid=entry.pw_gid, home=entry.pw_dir.strip("/"))
        return
    found = root.followed("etc/passwd")
    for line in found.data.decode("utf-8", "replace").split("\n") if found else ():
        parts = line.split(":")
        if len(parts) == _FIELDS and parts[2].isdecimal() and parts[3].isdecimal():
            yield Account(name=parts[0], uid=int(parts[2]), gid=int(parts[3]), home=parts[5].strip("/"))
