"""The fetcher of Podman's generators, with stand-ins for apt and for the package that it would bring."""

import os
import shutil
from pathlib import Path

import pytest

import fetch_gemma
import fetch_llama
import fetch_parts
import fetch_quadlet
from fetching import CannotFetch, run

LISTING = """\
'http://mirror.invalid/debian/dists/bookworm/InRelease' mirror.invalid_debian_dists_bookworm_InRelease 0 
'http://mirror.invalid/debian/dists/bookworm-updates/InRelease' mirror.invalid_debian_InRelease 0 
'http://mirror.invalid/debian-security/dists/bookworm-security/InRelease' mirror.invalid_security_InRelease 0 
'cdrom:[Debian GNU/Linux 12]/dists/bookworm/Release' cdrom_InRelease 0 
'https://other.invalid/apt/dists/stable/InRelease' other.invalid_InRelease 0 
'mirror+file:/etc/apt/mirrors/debian.list/dists/trixie/InRelease' mirrors_InRelease 0 
'http://mirror.invalid/debian/dists/bookworm/main/binary-amd64/Packages.xz' mirror.invalid_Packages 0 
"""  # noqa: W291 - apt ends its lines so


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that is the whole $PATH, but for what a stand-in itself needs."""
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", str(directory))
    return directory


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("QUADGEN_PARTS", str(tmp_path / "parts"))
    monkeypatch.delenv("QUADGEN_DEBIAN_MIRROR", raising=False)
    return tmp_path / "parts"


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}", encoding="utf-8")
    path.chmod(0o755)
    return path


def fetched(parts: Path, versions: dict[str, str]) -> None:
    for suite, version in versions.items():
        script(parts / "quadlet" / version / "quadlet", f"echo {version}")
        (parts / "quadlet" / f"{suite}.stamp").write_text(f"{version}\n", encoding="ascii")


@pytest.fixture(name="no_index")
def _no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(_: object) -> None:
        raise CannotFetch("no index")

    monkeypatch.setattr(fetch_gemma, "configured", asked)


def downloaded(parts: Path) -> Path:
    """A checkpoint as an earlier run leaves it."""
    path = fetch_gemma.checkpoint(parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"GGUF")
    path.with_name(f"{path.name}.stamp").write_text(f"{fetch_gemma.SHA256}\n", encoding="ascii")
    return path


def built(parts: Path) -> Path:
    """A server as an earlier run leaves it."""
    server = script(fetch_llama.program(parts), "echo version")
    (parts / "llama-server" / f"{fetch_llama.BUILD}.stamp").write_text(f"{fetch_llama.STAMP}\n", encoding="ascii")
    return server


def test_every_repository_of_apt_is_found_but_discs_and_security_archives() -> None:
    assert fetch_quadlet.repositories(LISTING) == [
        "http://mirror.invalid/debian",
        "https://other.invalid/apt",
        "mirror+file:/etc/apt/mirrors/debian.list",
    ]


def test_what_looks_like_debian_is_asked_before_what_does_not(programs: Path) -> None:
    lines = "'http://a.invalid/apt/dists/x/InRelease' a 0\n'http://b.invalid/debian/dists/sid/InRelease' b 0\n"
    script(programs / "apt-get", f'printf "%s" "{lines}"')
    assert fetch_quadlet.mirrors({}) == ["http://b.invalid/debian", "http://a.invalid/apt"]


def test_a_mirror_named_by_the_user_is_the_only_one_asked() -> None:
    assert fetch_quadlet.mirrors({"QUADGEN_DEBIAN_MIRROR": "http://c.invalid/debian/"}) == ["http://c.invalid/debian"]


def test_what_is_there_needs_neither_apt_nor_a_compiler_nor_a_network(
    parts: Path, programs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fetched(parts, {"trixie": "5.4.2", "sid": "5.8.6"})
    server, checkpoint = built(parts), downloaded(parts)
    assert not any(programs.iterdir())
    assert fetch_parts.main([]) == 0
    printed = capsys.readouterr()
    generators = [str(parts / "quadlet" / version / "quadlet") for version in ("5.4.2", "5.8.6")]
    assert printed.out.split() == [*generators, str(checkpoint), str(server)]
    assert printed.err == ""


@pytest.mark.usefixtures("programs", "no_index")
def test_with_nothing_at_all_one_line_a_part_says_what_is_lacking_and_what_follows(
    parts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fetch_parts.main([]) == 4
    said = capsys.readouterr().err.splitlines()
    assert [line.partition(": apt-get is not installed")[0] for line in said[:2]] == [
        "fetch_parts: no new Quadlet of Debian trixie",
        "fetch_parts: no new Quadlet of Debian sid",
    ]
    assert all(line.endswith("come out of Debian packages; its tests are skipped") for line in said[:2])
    lacking = "cmake, make, gcc, g++ are not installed, and llama-server is built from its source"
    install = "(on Debian: apt-get install cmake make gcc g++)"
    assert said[2:] == [
        "fetch_parts: no new Gemma 3 270M: no index; its tests are skipped",
        f"fetch_parts: no new llama-server b11434: {lacking} {install}; its tests are skipped",
    ]
    assert not [path for path in parts.rglob("*") if not path.is_dir()]


def test_a_mirror_that_fails_is_told_in_apts_first_error(
    parts: Path, programs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    keyring(monkeypatch, programs)
    script(
        programs / "apt-get",
        f'if [ "$2" = --print-uris ]; then printf "%s" "{LISTING.splitlines()[0]}"; exit; fi\n'
        'echo "W: noise" >&2; echo "E: Failed to fetch it" >&2; echo "E: later" >&2; exit 100',
    )
    fetched(parts, {"trixie": "5.4.2"})
    built(parts)
    downloaded(parts)
    assert fetch_parts.main(["--refresh"]) == 4
    why = "Failed to fetch it (QUADGEN_DEBIAN_MIRROR names another mirror)"
    assert capsys.readouterr().err.splitlines() == [
        f"fetch_parts: no new Quadlet of Debian trixie: {why}; keeping 5.4.2",
        f"fetch_parts: no new Quadlet of Debian sid: {why}; its tests are skipped",
    ]


def test_without_debians_keys_nothing_is_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_quadlet, "KEYRINGS", (str(tmp_path / "none.gpg"),))
    with pytest.raises(CannotFetch, match="debian-archive-keyring is not installed"):
        fetch_quadlet.download(tmp_path, "http://mirror.invalid/debian", "sid")


def test_the_generator_of_a_downloaded_package_lands_under_its_own_version(
    tmp_path: Path, parts: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.defpath}")
    package = podman_package(tmp_path)
    keyring(monkeypatch, programs)
    script(
        programs / "apt-get",
        f'case "$*" in *print-uris*) printf "%s" "{LISTING.splitlines()[0]}";; '
        f"*download*) cp {package} podman_9.8.7+ds1-1_all.deb;; esac",
    )
    built(parts)
    downloaded(parts)
    assert fetch_parts.main([]) == 0
    generator = parts / "quadlet" / "9.8.7" / "quadlet"
    assert os.access(generator, os.X_OK)
    assert {path.name for path in (parts / "quadlet").iterdir()} == {"9.8.7", "trixie.stamp", "sid.stamp"}
    assert [path.name for path in generator.parent.iterdir()] == ["quadlet"]


def test_a_package_without_a_generator_is_told_by_its_name(tmp_path: Path) -> None:
    package = podman_package(tmp_path, member="usr/bin/podman")
    with pytest.raises(CannotFetch, match=r"podman\.deb holds no Quadlet generator"):
        fetch_quadlet.extract(package, tmp_path)


def test_a_file_that_is_no_package_is_told_by_its_name(tmp_path: Path) -> None:
    real("dpkg-deb")
    (tmp_path / "podman.deb").write_bytes(b"<html>captive portal</html>")
    with pytest.raises(CannotFetch, match=r"podman\.deb cannot be unpacked"):
        fetch_quadlet.extract(tmp_path / "podman.deb", tmp_path)


def test_a_stamp_whose_program_is_gone_does_not_count(parts: Path) -> None:
    fetched(parts, {"sid": "5.8.6"})
    home = parts / "quadlet"
    assert fetch_quadlet.present(home, "sid") == home / "5.8.6" / "quadlet"
    (home / "5.8.6" / "quadlet").chmod(0o644)
    assert fetch_quadlet.present(home, "sid") is None
    (home / "sid.stamp").write_bytes(b"\n")
    assert fetch_quadlet.present(home, "sid") is None


def keyring(monkeypatch: pytest.MonkeyPatch, directory: Path) -> None:
    path = directory / "debian.gpg"
    path.touch()
    monkeypatch.setattr(fetch_quadlet, "KEYRINGS", (str(path),))


def real(program: str) -> str:
    """The machine's own program, or a skip."""
    found = shutil.which(program, path=os.defpath)
    if found is None:
        pytest.skip(f"{program} is not on this machine: Debian packages cannot be made or read here")
    return found


def podman_package(directory: Path, member: str = "usr/libexec/podman/quadlet") -> Path:
    """A package as Debian makes it, with one program that says its version."""
    builder = real("dpkg-deb")
    root = directory / "root"
    script(root / member, "echo 9.8.7")
    control = root / "DEBIAN" / "control"
    control.parent.mkdir()
    control.write_text(
        "Package: podman\nVersion: 9.8.7+ds1-1\nArchitecture: all\nMaintainer: Nobody <nobody@example.org>\n"
        "Description: stand-in\n",
        encoding="utf-8",
    )
    package = directory / "podman.deb"
    run([builder, "--root-owner-group", "--build", str(root), str(package)], directory, why="a test makes packages")
    return package
