"""Podman's Quadlet generators, for each suite of Debian below, without installing Podman.

apt downloads the suite's `podman` package through this machine's own mirror, proxy and keys, and one file is taken
out of it. It lies at `quadlet/<version>/quadlet`, and a stamp beside it keeps which version a suite had. Debian 12's
Podman 4.3 has no generator; those of later suites run on it.
"""

import os
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

from fetching import CannotFetch, is_program, place, run, stamped

SUITES = ("trixie", "sid")
"""Debian 13, the oldest Podman that quadgen renders for by default (5.4.2), and Debian unstable (moves)."""
MEMBERS = ("./usr/libexec/podman/quadlet", "./usr/lib/podman/quadlet")
KEYRINGS = tuple(f"/usr/share/keyrings/debian-archive-keyring.{kind}" for kind in ("pgp", "gpg"))
WHY = "the generators come out of Debian packages"

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


def quadlet(home: Path, suite: str, *, refresh: bool) -> Path:
    """The generator of `suite` below `home`, fetched where it is not there or `refresh` is. Raises `CannotFetch`."""
    there = None if refresh else present(home, suite)
    return there or fetch(home, suite)


def present(home: Path, suite: str) -> Path | None:
    """The generator that an earlier run fetched for `suite`, if it still stands."""
    version = stamped(home / f"{suite}.stamp")
    generator = home / (version or "") / "quadlet"
    return generator if version is not None and is_program(generator) else None


def fetch(home: Path, suite: str) -> Path:
    """Download `suite`'s podman package, take the generator out and put it in its place.

    Raises `CannotFetch` with the reason of the last mirror tried.
    """
    reason = "this machine's apt has no sources"
    for mirror in mirrors(os.environ):
        with tempfile.TemporaryDirectory(prefix="quadgen-parts-") as name:
            work = Path(name)
            try:
                return settle(extract(download(work, mirror, suite), work), home, suite)
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
    listing = run(["apt-get", "update", "--print-uris"], Path.cwd(), why=WHY)
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
    run([*apt, "update"], work, why=WHY)
    run([*apt, "download", "podman"], work, why=WHY)
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


def settle(generator: Path, home: Path, suite: str) -> Path:
    """Ask the generator for its version, put it under that name and stamp the suite."""
    version = run([str(generator), "-version"], generator.parent, why=WHY).strip()
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)+[A-Za-z0-9.+~-]*", version):
        raise CannotFetch(f"the generator says {version!r} for its version")
    return place(generator, home / version / "quadlet", home / f"{suite}.stamp", version)
