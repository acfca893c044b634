"""Fetch the real programs that the suite is judged by: Podman's Quadlet generators.

They come out of Debian's `podman` package, for each suite below, without installing Podman: apt downloads the
package through this machine's own mirror, proxy and keys, and one file is taken out of it. The result lies at
`.cache/parts/quadlet/<version>/quadlet` ($QUADGEN_PARTS moves `.cache/parts`), and a stamp beside it keeps
which version a suite had, so that a second run needs neither the network nor apt. Debian 12's Podman 4.3 has
no generator; those of later suites run on it.

    python tests/fetch_parts.py [--refresh]

Exit status: 0 everything is there, 4 something is missing, after one line on stderr for each. Only the
standard library is used: it runs before anything is installed.
"""

import argparse
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

SUITES = ("trixie", "sid")
"""Debian 13, the oldest Podman that quadgen renders for by default (5.4.2), and Debian unstable (moves)."""
MEMBERS = ("./usr/libexec/podman/quadlet", "./usr/lib/podman/quadlet")
KEYRINGS = tuple(f"/usr/share/keyrings/debian-archive-keyring.{kind}" for kind in ("pgp", "gpg"))
PATIENCE = 900
"""Seconds for one call of apt; a mirror that needs longer is as good as none."""

APT_CONFIG = """\
Dir::Etc::sourcelist "{work}/parts.sources";
Dir::Etc::sourceparts "-";
Dir::State "{work}/state";
Dir::State::status "{work}/state/status";
Dir::Cache "{work}/cache";
APT::Sandbox::User "";
APT::Get::List-Cleanup "false";
APT::Update::Error-Mode "any";
Acquire::Languages "none";
Acquire::Retries "3";
Acquire::http::Timeout "60";
Acquire::https::Timeout "60";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
"""
"""What apt writes goes below `work`; the machine's hooks, which tend the machine's lists, stay out."""
SOURCE = """\
Types: deb
URIs: {mirror}
Suites: {suite}
Components: main
Targets: Packages
Signed-By: {keyring}
"""


class CannotFetch(Exception):  # noqa: N818 - it says what happened, not that the program is at fault
    """One suite's generator cannot be had; the text is one line for the user."""


def main(arguments: list[str]) -> int:
    """Make sure that every suite's generator is there; return the exit status."""
    parser = argparse.ArgumentParser(prog="fetch_parts", description="Fetch Podman's Quadlet generators.")
    parser.add_argument("--refresh", action="store_true", help="ask the mirror again, also for what is there")
    refresh = parser.parse_args(arguments).refresh
    home = cache(os.environ) / "quadlet"
    missing = 0
    for suite in SUITES:
        try:
            generator = None if refresh else present(home, suite)
            generator = generator or fetch(home, suite)
        except CannotFetch as reason:
            kept = present(home, suite)
            missing += kept is None
            so = "its tests are skipped" if kept is None else f"keeping {kept.parent.name}"
            sys.stderr.write(f"fetch_parts: no new Quadlet of Debian {suite}: {reason}; {so}\n")
        else:
            sys.stdout.write(f"{generator}\n")
    return 4 if missing else 0


def cache(environment: Mapping[str, str]) -> Path:
    """Where the parts lie: $QUADGEN_PARTS, else `.cache/parts` of this checkout."""
    given = environment.get("QUADGEN_PARTS")
    return Path(given).absolute() if given else Path(__file__).resolve().parents[1] / ".cache" / "parts"


def present(home: Path, suite: str) -> Path | None:
    """The generator that an earlier run fetched for `suite`, if it still stands."""
    try:
        version = (home / f"{suite}.stamp").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    generator = home / version / "quadlet"
    return generator if version and os.access(generator, os.X_OK) and generator.is_file() else None


def fetch(home: Path, suite: str) -> Path:
    """Download `suite`'s podman package, take the generator out and put it in its place.

    Raises `CannotFetch` with the reason of the last mirror tried.
    """
    reason = "this machine's apt has no sources"
    for mirror in mirrors(os.environ):
        with tempfile.TemporaryDirectory(prefix="quadgen-parts-") as name:
            work = Path(name)
            try:
                return place(extract(download(work, mirror, suite), work), home, suite)
            except CannotFetch as error:
                reason = str(error)
    raise CannotFetch(f"{reason} (QUADGEN_DEBIAN_MIRROR names another mirror)")


def mirrors(environment: Mapping[str, str]) -> list[str]:
    """$QUADGEN_DEBIAN_MIRROR, else this machine's repositories, what looks like Debian's archive first.

    apt itself is asked, so that sources of either format, disabled ones and options count as apt counts them.
    """
    given = environment.get("QUADGEN_DEBIAN_MIRROR")
    if given:
        return [given.rstrip("/")]
    listing = run(["apt-get", "update", "--print-uris"], Path.cwd())
    return sorted(repositories(listing), key=lambda uri: "/debian" not in uri)


def repositories(listing: str) -> list[str]:
    """The bases of what `apt-get update --print-uris` prints, each once; no security archive, no disc."""
    found = re.findall(r"^'([^']+?)/*/dists/([^']+)/(?:In)?Release'", listing, re.MULTILINE)
    archives = [uri for uri, suite in found if "security" not in suite and not uri.startswith("cdrom:")]
    return list(dict.fromkeys(archives))


def download(work: Path, mirror: str, suite: str) -> Path:
    """Let apt fetch `suite`'s podman package from `mirror`, signatures checked; return the file."""
    keyring = next((path for path in KEYRINGS if Path(path).exists()), None)
    if keyring is None:
        raise CannotFetch("debian-archive-keyring is not installed, and nothing else vouches for packages")
    for directory in ("state/lists/partial", "cache/archives/partial"):
        (work / directory).mkdir(parents=True)
    (work / "state" / "status").touch()
    source = SOURCE.format(mirror=mirror, suite=suite, keyring=keyring)
    (work / "parts.sources").write_text(source, encoding="utf-8")
    (work / "apt.conf").write_text(APT_CONFIG.format(work=work), encoding="utf-8")
    apt = ["apt-get", "-qq", "-c", str(work / "apt.conf")]
    run([*apt, "update"], work)
    run([*apt, "download", "podman"], work)
    package = next(work.glob("podman_*.deb"), None)
    if package is None:
        raise CannotFetch("apt-get downloaded no podman package")
    return package


def extract(package: Path, work: Path) -> Path:
    """Take the generator, and nothing else, out of a Debian package."""
    command = ["dpkg-deb", "--fsys-tarfile", str(package)]
    try:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as unpacker:
            archive = tarfile.open(fileobj=unpacker.stdout, mode="r|")  # noqa: SIM115 - the pipe is closed by `with`
            for member in archive:
                content = archive.extractfile(member) if member.name in MEMBERS else None
                if content is not None:
                    generator = work / "quadlet"
                    generator.write_bytes(content.read())
                    generator.chmod(0o755)
                    unpacker.kill()
                    return generator
    except FileNotFoundError:
        raise CannotFetch("dpkg-deb is not installed") from None
    except tarfile.TarError:
        raise CannotFetch(f"{package.name} cannot be unpacked") from None
    raise CannotFetch(f"{package.name} holds no Quadlet generator")


def place(generator: Path, home: Path, suite: str) -> Path:
    """Ask the generator for its version, put it under that name and stamp the suite."""
    version = run([str(generator), "-version"], generator.parent).strip()
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)+[A-Za-z0-9.+~-]*", version):
        raise CannotFetch(f"the generator says {version!r} for its version")
    target = home / version / "quadlet"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        install(target, generator.read_bytes(), mode=0o755)
        install(home / f"{suite}.stamp", f"{version}\n".encode(), mode=0o644)
    except OSError as error:
        raise CannotFetch(f"cannot write {error.filename}: {error.strerror}") from None
    return target


def install(path: Path, data: bytes, *, mode: int) -> None:
    """Write a file whole or not at all, so that a run which is stopped leaves no half of a program."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_bytes(data)
    fresh.chmod(mode)
    fresh.replace(path)


def run(command: list[str], directory: Path) -> str:
    """Run a program for its standard output; a failure becomes one line: its last error, or its status."""
    plain = {**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            command,
            cwd=directory,
            env=plain,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE,
            check=False,
        )
    except FileNotFoundError:
        reason = f"{command[0]} is not installed, and the generators come out of Debian packages"
        raise CannotFetch(reason) from None
    except OSError as error:
        raise CannotFetch(f"{command[0]} cannot run here: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise CannotFetch(f"{command[0]} did not end within {PATIENCE} seconds") from None
    if done.returncode:
        said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        errors = [line.removeprefix("E: ") for line in said if line.startswith("E: ")] or said
        raise CannotFetch(errors[0] if errors else f"{command[0]} ended with status {done.returncode}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
