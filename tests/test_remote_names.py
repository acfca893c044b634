"""What names a remote file: addresses, the hub's names, pages that are no files, and how a quant becomes a file."""

import json
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from file_server import NOTHING, Answer, Reply, Server, ranged, redirect, started, status
from quadgen import remote
from quadgen.gguf.source import Malformed
from quadgen.problems import Unavailable
from quadgen.remote import choice
from quadgen.remote.names import HUB, in_hub, shown

pytestmark = [pytest.mark.loopback, pytest.mark.usefixtures("no_proxies")]

TREE = "/api/models/org/repo/tree/main?recursive=true"
FILES = (
    "README.md",
    "BF16/Model-BF16-00001-of-00002.gguf",
    "BF16/Model-BF16-00002-of-00002.gguf",
    "BF16/mmproj-deep.gguf",
    "Model-IQ4_XS.gguf",
    "Model-Q4_K_M.gguf",
    "Model-Q8_0.gguf",
    "Model-UD-Q4_K_XL.gguf",
    "imatrix_unsloth.gguf",
    "mmproj-BF16.gguf",
    "mmproj-F16.gguf",
    "mmproj-Model-Q8_0.gguf",
    "mtp-Model-Q4_K_M.gguf",
)


def listed(files: Sequence[str]) -> Answer:
    entries: list[object] = [{"type": "file", "path": name, "size": 1, "oid": "0" * 40} for name in files]
    entries[:0] = [{"type": "directory", "path": "x.gguf"}, "nonsense", {"type": "file", "path": 1}]
    return lambda _: Reply(200, {"Content-Type": "application/json"}, json.dumps(entries).encode())


def names(name: str, environ: Mapping[str, str] = NOTHING) -> list[str]:
    with remote.opened(name, environ=environ) as sources:
        return [source.name for source in sources]


def hub(server: Server) -> dict[str, str]:
    return {"HF_ENDPOINT": server.url()}


@pytest.mark.parametrize("name", ["hf:org/repo:Q4_0", "https://x/y.gguf", "HTTP://x/y", "hf:", "HF:org/repo"])
def test_an_address_and_a_name_of_the_hub_are_remote(name: str) -> None:
    assert remote.is_remote(name)


@pytest.mark.parametrize("name", ["model.gguf", "/srv/http://x", "hf", "org/repo", "ftp://x/y", "http:/x", ""])
def test_everything_else_is_a_file_of_this_machine(name: str) -> None:
    assert not remote.is_remote(name)


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("hf:org/repo/model.gguf", "/org/repo/resolve/main/model.gguf"),
        ("hf:org/repo/deep/er/model.gguf", "/org/repo/resolve/main/deep/er/model.gguf"),
        ("hf:org/re-po_1.5@v1.0/a.gguf", "/org/re-po_1.5/resolve/v1.0/a.gguf"),
        ("hf:org/repo@refs/pr/7/a.gguf", "/org/repo/resolve/refs%2Fpr%2F7/a.gguf"),
        ("hf:org/repo@refs%2Fpr%2F7/a.gguf", "/org/repo/resolve/refs%2Fpr%2F7/a.gguf"),
        ("hf:org/repo/with blank%.gguf", "/org/repo/resolve/main/with%20blank%25.gguf"),
    ],
)
def test_a_name_of_the_hub_is_an_address(name: str, address: str) -> None:
    with started({address: ranged(b"GGUF")}) as server, remote.opened(name, environ=hub(server)) as (source,):
        assert source.read(0, 4) == b"GGUF"
        assert source.name == name.replace("refs%2Fpr%2F7", "refs/pr/7")


@pytest.mark.parametrize(
    "name", ["hf:", "hf:repo", "hf:org/repo/", "hf:org/repo/../x", "hf:org/repo/a/./b", "hf:org/repo:a/b", "hf:o/r@/x"]
)
def test_a_name_that_names_no_file_of_the_hub_is_refused(name: str) -> None:
    with pytest.raises(Unavailable) as caught:
        names(name)
    assert str(caught.value) == f"{name} names no file of the hub: write hf:org/repo/file.gguf or hf:org/repo:quant"


@given(st.text(max_size=60) | st.from_regex(r"[a-z]/[a-z](@[^/:@]{1,9})?[/:].{1,9}", fullmatch=True))
def test_any_text_after_the_prefix_is_a_name_or_refused(text: str) -> None:
    try:
        found = in_hub(f"hf:{text}")
    except Unavailable:
        return
    assert found is not None
    assert in_hub(str(found)) == found
    assert found.address(HUB).startswith(f"{HUB}/{found.repo}/resolve/")


@given(
    st.from_regex(
        r"https?://([a-z]{1,9}(:[^@/?#]{0,9})?@)?[a-z.]{1,9}(/[^?#]{0,9})?(\?[^#]{0,9})?(#.{0,9})?", fullmatch=True
    )
)
def test_an_address_is_shown_without_what_can_be_secret(address: str) -> None:
    found = shown(address)
    assert "?" not in found
    assert "#" not in found
    assert "@" not in found.split("/")[2]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/org/repo/blob/main/a/m.gguf", "the page about a file, not the file itself: its address is {}/a/m.gguf"),
        (
            "/org/repo/blob/main/m.gguf?download=true",
            "the page about a file, not the file itself: its address is {}/m.gguf",
        ),
        (
            "/org/repo/raw/main/m.gguf",
            "the text that git keeps of a large file, not the file itself: its address is {}/m.gguf",
        ),
        (
            "/org/repo/tree/main",
            "the list of a repository's files, not the file itself: write hf:org/repo/file.gguf, or hf:org/repo:quant",
        ),
        (
            "/org/repo-2.5",
            "the page of a repository, not the file itself: write hf:org/repo/file.gguf, or hf:org/repo:quant",
        ),
    ],
)
def test_a_page_of_the_hub_is_refused_with_the_address_of_the_file(path: str, said: str) -> None:
    with started() as server:
        for base, environ in (
            (HUB, {}),
            (server.url(), hub(server)),
            (server.url("/x"), {"HF_ENDPOINT": server.url("/x")}),
        ):
            with pytest.raises(Malformed) as caught:
                names(f"{base}{path}", environ)
            assert caught.value.message == f"it is {said.format(f'{base}/org/repo/resolve/main')}"
            assert caught.value.offset == 0
    assert server.seen == []


def test_a_page_of_another_server_is_refused_once_it_is_seen_to_be_one() -> None:
    path = "/org/repo/blob/main/m.gguf"
    with started({path: ranged(b"\xef\xbb\xbf\n<!DOCTYPE html><html>")}) as server:
        with remote.opened(server.url(path), environ={}) as (source,), pytest.raises(Malformed) as caught:
            source.read(0, 24)
        direct = server.url("/org/repo/resolve/main/m.gguf")
        end = f": its address is {direct}, if that server names files as the hub does"
        assert caught.value.message == f"not a GGUF file but a web page{end}"
        server.answers[path] = ranged(b"GGUF")
        with remote.opened(server.url(path), environ={}) as (source,):
            assert source.read(0, 24) == b"GGUF"


def test_the_first_model_of_a_quant_is_taken_whatever_the_case() -> None:
    with started({TREE: listed(FILES)}) as server:
        for quant, files in {
            "Q4_K_M": ["Model-Q4_K_M.gguf"],
            "q8_0": ["Model-Q8_0.gguf"],
            "UD-Q4_K_XL": ["Model-UD-Q4_K_XL.gguf"],
            "BF16": [FILES[1], FILES[2]],
        }.items():
            assert names(f"hf:org/repo:{quant}", hub(server)) == [f"hf:org/repo/{file}" for file in files]
        assert names("hf:org/repo", hub(server)) == ["hf:org/repo/Model-Q4_K_M.gguf"]


def test_shards_of_a_quant_are_read_from_their_own_addresses() -> None:
    answers = {TREE: listed(FILES)} | {f"/org/repo/resolve/main/{FILES[n]}": ranged(FILES[n].encode()) for n in (1, 2)}
    with started(answers) as server, remote.opened("hf:org/repo:BF16", environ=hub(server)) as sources:
        assert [bytes(source.read(0, 9)).decode() for source in sources] == [FILES[1], FILES[2]]


def test_without_a_quant_the_choice_falls_from_q4_k_m_to_q8_0_to_the_first_model() -> None:
    assert choice.model(FILES, None) == "Model-Q4_K_M.gguf"
    without = [name for name in FILES if "Q4_K_M" not in name]
    assert choice.model(without, None) == "Model-Q8_0.gguf"
    assert choice.model([name for name in without if "Q8_0" not in name], None) == FILES[1]
    assert choice.model(["mmproj-F16.gguf", "b-00002-of-00002.gguf", "README.md"], None) is None


def test_a_quant_is_no_pattern_and_no_beginning_of_another() -> None:
    assert choice.model(["Q4_K_M/x.gguf", "Model-Q4_K_M.gguf"], "Q4_K_M") == "Model-Q4_K_M.gguf"
    assert choice.model(FILES, "Q4_K") is None
    assert choice.model(FILES, "Q._K_M") is None


def test_a_quant_that_is_missing_is_refused_with_those_that_are_there() -> None:
    with started({TREE: listed(FILES)}) as server, pytest.raises(Unavailable) as caught:
        names("hf:org/repo:Q5_K_M", hub(server))
    there = "it has BF16, IQ4_XS, Q4_K_M, Q8_0, Q4_K_XL"
    assert str(caught.value) == f"cannot read hf:org/repo:Q5_K_M: org/repo has no model of the quant Q5_K_M; {there}"


@pytest.mark.parametrize(
    ("files", "end"),
    [
        (["README.md"], "org/repo has no GGUF model"),
        (["preset.ini", *FILES], "it has a preset.ini, which llama-server takes in the place of a model"),
    ],
)
def test_a_repository_without_a_model_is_refused(files: list[str], end: str) -> None:
    with started({TREE: listed(files)}) as server, pytest.raises(Unavailable) as caught:
        names("hf:org/repo", hub(server))
    assert str(caught.value) == f"cannot read hf:org/repo: {end}"


@pytest.mark.parametrize("body", [b"", b"{}", b"<html>", b"[" * 100_000, b"\xff", b"[" + b" " * (17 * 2**20) + b"]"])
def test_a_list_that_is_none_is_refused(body: bytes) -> None:
    with started({TREE: lambda _: Reply(200, {}, body)}) as server, pytest.raises(Unavailable) as caught:
        names("hf:org/repo", hub(server))
    assert str(caught.value) == f"cannot read hf:org/repo: 127.0.0.1:{server.port} sends no list of files"


def test_a_list_is_asked_for_at_the_revision_and_may_be_elsewhere() -> None:
    other = "/api/models/org/new/tree/v%2F1?recursive=true"
    moved = {"/api/models/org/repo/tree/v%2F1?recursive=true": redirect(other, 307), other: listed(FILES)}
    with started(moved) as server:
        assert names("hf:org/repo@v%2F1:Q8_0", hub(server)) == ["hf:org/repo@v%2F1/Model-Q8_0.gguf"]


def test_a_repository_that_is_not_there_is_named() -> None:
    with started({TREE: status(404, {"X-Error-Code": "RepoNotFound"})}) as server, pytest.raises(Unavailable) as caught:
        names("hf:org/repo:Q8_0", hub(server))
    assert str(caught.value) == "cannot read hf:org/repo:Q8_0: there is no org/repo, or it is private (404)"


def test_the_projector_is_the_deepest_then_the_one_with_the_next_number_of_bits() -> None:
    assert choice.projector(FILES, "BF16/Model-BF16-00001-of-00002.gguf") == "BF16/mmproj-deep.gguf"
    assert choice.projector(FILES, "Model-Q4_K_M.gguf") == "mmproj-Model-Q8_0.gguf"
    assert choice.projector(FILES, "other/Model-F16.gguf") == "mmproj-BF16.gguf"
    assert choice.projector(["a/mmproj-F16.gguf"], "Model-F16.gguf") is None


def test_the_projector_of_a_name_of_the_hub_is_a_name_of_the_hub() -> None:
    with started({TREE: listed(FILES)}) as server:
        for name in ("hf:org/repo:Q4_K_M", "hf:org/repo", "hf:org/repo/Model-Q4_K_M.gguf"):
            assert remote.projector(name, environ=hub(server)) == "hf:org/repo/mmproj-Model-Q8_0.gguf"
        assert remote.projector(server.url("/a.gguf"), environ=hub(server)) is None
        server.answers[TREE] = listed(["Model-Q8_0.gguf"])
        assert remote.projector("hf:org/repo", environ=hub(server)) is None
