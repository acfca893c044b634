"""The programs of a host, run as whom they must be run: systemctl, podman and others, of the system or of a user.

A rootless service lives in its user's own systemd and Podman. Both are found by `XDG_RUNTIME_DIR` and the session
bus, which an `ansible-pull` of root's does not have; `sudo` and `su` do not set them either. So a program for a
user gets that user's ids, groups, home and runtime directory, and nothing of root's that would mislead it.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

MISSING: Final = 127
"""The status of a program that is not there, or may not be run, as a shell has it."""

QUICK: Final = 60.0
"""Seconds for a program that only answers. systemctl's own bus calls give up after 25 to 90."""

_FOR_ALL: Final = frozenset(
    (
        *("PATH", "LANG", "LANGUAGE", "TZ"),
        *("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"),
        *("HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"),
    )
)
"""What a program of another user keeps of root's variables. Nothing else: that user reads it in /proc, and the unit of
a pull may hold a token for its repository."""

_FOR_ALL_TOO: Final = ("LC_", "QUADGEN_")
"""Locales, and settings of quadgen's own."""


_EVENTS: Final = frozenset(("conmon", "podman"))
"""Who writes to the journal what it does for a unit; Podman's errors come under the name of the unit."""

_NOISE: Final = re.compile(r"|[0-9a-f]{64}")
"""Nothing, and the id of a container, which Podman prints."""

_READ: Final = 200
_QUOTED: Final = 6
_WIDTH: Final = 300
"""Lines of the journal that are read, and quoted, and characters of one."""


_CLOCK: Final = re.compile(r"\d+(?:\.\d+){2,3} (?=[DIWE] )")
"""llama-server's time since its start, before the letter of the level (common/log.cpp)."""

_WRONG: Final = re.compile(
    r"(?i:\b(?:error|fail(?:ed|ure)?|cannot|unable|invalid|abort(?:ed|ing)?|terminate|out of memory|no such)\b)|^E "
)
"""A line that is more than progress."""


class Trouble(Exception):  # noqa: N818 - a sentence for people, no fault of the code
    """Something that cannot be done on this host, as one sentence without a full stop."""


@dataclass(frozen=True)
class Said:
    """What a program left: its status (None: ended for taking too long, `MISSING`: it is not there), and its words."""

    status: int | None
    stdout: str
    stderr: str

    @property
    def done(self) -> bool:
        """Whether it did what it was asked."""
        return self.status == 0

    @property
    def missing(self) -> bool:
        """Whether there is no such program."""
        return self.status == MISSING

    @property
    def why(self) -> str:
        """Its last words, on one line, or how it ended."""
        return self._words[-1]

    @property
    def first(self) -> str:
        """Its first words: systemctl ends with where to look further."""
        return self._words[0]

    @property
    def _words(self) -> list[str]:
        words = [line.strip() for line in (self.stderr or self.stdout).splitlines() if line.strip()]
        return words or ["it did not end in time" if self.status is None else f"it ended with status {self.status}"]


Run = Callable[..., Said]
"""`run(argv, user=None, timeout=QUICK)`, as the function of that name here."""


@dataclass(frozen=True)
class Account:
    """A user of this host, with all of its groups."""

    name: str
    uid: int
    gid: int
    groups: Sequence[int]
    home: str

    @property
    def runtime(self) -> str:
        """The directory of its sockets, which is there while it lingers or is logged in."""
        return f"/run/user/{self.uid}"


def account(name: str) -> Account:
    """Look a user up; raises Trouble where there is none of that name."""
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise Trouble(f"there is no user {name} on this host") from None
    groups = tuple(os.getgrouplist(entry.pw_name, entry.pw_gid))
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, groups, entry.pw_dir)


def environment(user: Account | None, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of a program, for root (or whoever runs this: None) or for a user; words in English."""
    if user is None:
        return {**environ, "LC_ALL": "C.UTF-8", "SYSTEMD_COLORS": "0", "SYSTEMD_PAGER": ""}
    kept = {key: value for key, value in environ.items() if key in _FOR_ALL or key.startswith(_FOR_ALL_TOO)}
    return {
        **environment(None, kept),
        "HOME": user.home,
        "USER": user.name,
        "LOGNAME": user.name,
        "XDG_RUNTIME_DIR": user.runtime,
        "DBUS_SESSION_BUS_ADDRESS": f"unix:path={user.runtime}/bus",
    }


def run(argv: Sequence[str], user: str | None = None, timeout: float | None = QUICK) -> Said:
    """Run a program of PATH as whoever runs this (None) or as a user, and wait for it, at most `timeout` seconds.

    After that it is killed with all that it started; None waits for ever. Bytes that are not UTF-8 come back as
    backslash escapes. Raises Trouble for a user that is not there, or whom only root could act for.
    """
    whom = None if user is None else account(user)
    other = whom is not None and whom.uid != os.geteuid()
    if whom is not None and other and os.geteuid() != 0:
        raise Trouble(f"only root or {whom.name} can act for {whom.name}")
    try:
        process = subprocess.Popen(  # noqa: S603 - a list, no shell; running these programs is the point
            list(argv),
            env=environment(whom, os.environ),
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="backslashreplace",
            start_new_session=True,
            user=whom.uid if whom is not None and other else None,
            group=whom.gid if whom is not None and other else None,
            extra_groups=whom.groups if whom is not None and other else None,
        )
    except OSError as error:
        return Said(MISSING, "", f"cannot run {argv[0]}: {error.strerror}")
    with process:
        try:
            stdout, stderr = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            _kill(process)
            return Said(None, "", "")
        except BaseException:
            _kill(process)
            raise
    return Said(process.returncode, stdout, stderr)


def _kill(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def systemctl(*words: str, user: str | None = None, run: Run = run, timeout: float | None = QUICK) -> Said:
    """Ask the system's systemd, or that of a user."""
    scope = ["--user"] if user is not None else []
    return run(["systemctl", *scope, "--no-pager", "--no-ask-password", *words], user=user, timeout=timeout)


def show(
    units: Iterable[str], properties: Iterable[str], *, user: str | None = None, run: Run = run
) -> dict[str, dict[str, str]]:
    """The properties of units as systemd has them, by unit; one call for all of them.

    A unit that is not there has the LoadState `not-found`. Raises Trouble where systemd does not answer. That of a
    user may be on its way, as when a host has just come up: it is waited for.
    """
    names = list(dict.fromkeys(units))
    if not names:
        return {}
    words = ["show", f"--property={','.join(properties)}", "--", *names]
    said = systemctl(*words, user=user, run=run)
    if not said.done and user is not None and runs(user, run=run):
        said = systemctl(*words, user=user, run=run)
    blocks = [_properties(block) for block in said.stdout.strip("\n").split("\n\n")]
    if not said.done or len(blocks) != len(names):
        raise Trouble(f"{whose(user)} does not say what its units do: {said.why}")
    return dict(zip(names, blocks))


def _properties(block: str) -> dict[str, str]:
    return {key: value for key, _, value in (line.partition("=") for line in block.splitlines())}


def answers(user: str | None = None, *, run: Run = run, within: float = 10.0) -> None:
    """Wait until a systemd answers: right after `loginctl enable-linger` that of a user takes a moment.

    Raises Trouble where it does not within so many seconds.
    """
    end = time.monotonic() + within
    while True:
        said = systemctl("show", "--property=Version", user=user, run=run)
        if said.done:
            return
        if said.missing or user is None or time.monotonic() > end:
            linger = "" if user is None else f"; loginctl enable-linger {user} starts it"
            raise Trouble(f"{whose(user)} does not answer: {said.why}{linger}")
        time.sleep(0.2)


def own() -> str | None:
    """Whose manager is that of whoever runs this: None, the system's, for root."""
    return pwd.getpwuid(os.geteuid()).pw_name if os.geteuid() else None


def runs(user: str | None = None, *, run: Run = run) -> bool:
    """Whether a systemd runs: the system's always does, that of a user while somebody is logged in or lingers.

    A user who is gone has none. Raises Trouble where one runs and does not answer.
    """
    if user is None:
        return True
    try:
        unit = f"user@{account(user).uid}.service"
    except Trouble:
        return False
    if not systemctl("show", "--property=Version", user=user, run=run).done:
        if show([unit], ["ActiveState"], run=run)[unit]["ActiveState"] not in ("active", "activating"):
            return False
        answers(user, run=run, within=QUICK)  # its start reads from disks that load models
    return True


def whose(user: str | None) -> str:
    """The manager of a user, or of the system, in words."""
    return "systemd" if user is None else f"the systemd of {user}"


def podman(*words: str, user: str | None = None, run: Run = run, timeout: float | None = QUICK) -> Said:
    """Call Podman as root or as a user, whose images and secrets are its own."""
    return run(["podman", *words], user=user, timeout=timeout)


def journal(unit: str, since: float, *, user: str | None = None, run: Run = run) -> list[str]:
    """What says why a unit fails, since a time (seconds since the epoch), or else the last of all that is said of it.

    None where the journal cannot be read. Lines of a user's unit are asked for field by field: `--user-unit` would
    look for units of whoever asks, and what runs in a container of a user has another id than the user.
    """
    if user is None:
        matches = [f"--unit={unit}"]
    else:
        owner = account(user).uid
        matches = [f"_SYSTEMD_USER_UNIT={unit}", f"_SYSTEMD_OWNER_UID={owner}", "+"]
        matches += [f"USER_UNIT={unit}", f"_UID={owner}"]
    words = ["--no-pager", "--quiet", "--output=json", "--output-fields=MESSAGE,SYSLOG_IDENTIFIER"]
    said = run(["journalctl", *words, f"--since=@{since:.6f}", f"--lines={_READ}", *matches])
    lines = [json.loads(line) for line in said.stdout.splitlines()] if said.done else []
    told = [(line.get("SYSLOG_IDENTIFIER"), line.get("MESSAGE")) for line in lines]
    texts = [
        (who, _CLOCK.sub("", text.strip(), count=1))
        for who, text in told
        if isinstance(text, str) and who not in _EVENTS and not _NOISE.fullmatch(text.strip())
    ]
    # by the time that it is asked, a server that ended has begun anew, and says the same again
    why = dict.fromkeys(text for who, text in texts if who != "systemd" and _WRONG.search(text))
    return [text[:_WIDTH] for text in list(why or dict.fromkeys(text for _, text in texts))[-_QUOTED:]]
