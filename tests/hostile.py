"""Values that break unit files, as hypothesis strategies: what people write into a fleet, and worse."""

import os
from typing import TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

BATCH = 20
"""Units in one run of a generator, which costs 20 ms whatever it reads."""

in_batches = settings(
    max_examples=110 if os.environ.get("CI") == "true" else 10,
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.function_scoped_fixture,
    ],
)
"""For a test of `batches`: 2,200 examples in CI, 200 elsewhere."""

SNIPPETS = (
    '{"enable_thinking":false}', '{"a": "b c", "d": [1, "\\n"]}', r"\.ffn_(up|down|gate)_exps\.=CPU",
    r"blk\.(\d+)$", "^(?:[^\"']|\\\\.)*$", "100%", "%", "%%", "%h", "%d/key", "50 % of", "%z", "$", "$$",
    "$HOME", "${HOME}", "$1", "a$b", "a$$b", "$${X}", "${", "$(id)", "`id`", "C:\\models\\x", "\\", "\\\\",
    "ends in \\", "a\\ b", "\\n", "\\x41", "\\u00e9", "\\;", ";", ";;", "a;b", "; ", "#", "# no comment",
    "a #b", "-", "--", "--flag", "--flag=a b", "=", "a=b", "=b", '"', "'", '""', "''", '"a', "a'", "it's",
    'say "x"', "[Container]", "[x", "Exec=evil", "a\nExec=evil", "a\n[Service]\nUser=root", "\n", "a\r\nb",
    "\r", "\t", " ", "  ", " a", "a ", "a  b", "a\tb", "", "@x", "+x", "!x", ":x", "|x", "~", "~/x", "*",
    "?", "{}", "{a,b}", "<a>", "&&", "on", "/srv/my models", "/srv/modèles/ü", "./x", "a/../b",
    "\N{NO-BREAK SPACE}", "a\N{NO-BREAK SPACE}", "\N{LINE SEPARATOR}", "\x85", "\x80", "\x1b[31m",
    "\a\b\f\v", "\x7f", "\x01", "\N{ZERO WIDTH NO-BREAK SPACE}a", "\N{ZERO WIDTH SPACE}", "日本語",
    "\N{LLAMA} llama", "\U0010fffe", "\ufffe", "\ufdd0", "\0", "--no-mmap --jinja", "x" * 300, "é" * 200,
)  # fmt: skip

characters = st.one_of(
    st.sampled_from("\\\"'%$; \t\n#=-[]{}()*~|^"),
    st.sampled_from("abnrtvxuU019hd/.:,"),
    st.characters(exclude_categories=["Cs"]),
)
texts = st.one_of(
    st.sampled_from(SNIPPETS),
    st.text(characters, max_size=12),
    st.lists(st.sampled_from(SNIPPETS), min_size=2, max_size=3).map("".join),
)
"""Any text, surrogates left out (they cannot be written to a file)."""

names = st.one_of(
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True),
    st.sampled_from(["io.containers.autoupdate", "a.b/c-d", "x-y", "%h", "$X", "a'b", 'a"b', "a\\b", "é", ";", "#"]),
)
"""Names of variables and labels."""

paths = st.one_of(
    st.sampled_from(["/srv/models", "/srv/my models", "/a", "/%h/$x", "/a\\b", "/ünï/ç", "/it's", "/a\\", "/a b/c\td"]),
    st.text(characters.filter(lambda char: char not in "/:\0"), min_size=1, max_size=8).map(lambda name: f"/{name}"),
)
"""Absolute paths without the colon that separates a volume's parts."""

T = TypeVar("T")


def batches(example: st.SearchStrategy[T]) -> st.SearchStrategy[list[T]]:
    """`BATCH` examples at once, for a judge that is a program."""
    return st.lists(example, min_size=BATCH, max_size=BATCH)
