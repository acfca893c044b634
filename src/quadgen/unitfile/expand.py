"""Specifiers and variables: what systemd puts in place of `%` and `$` once a line is split into words.

Rules from systemd's src/shared/specifier.c and src/basic/env-util.c (replace_env_argv).
"""

import re

from quadgen.unitfile.text import SPECIFIERS, Malformed, Spec, Word

_after_percent = re.compile(r"%(.?)", re.DOTALL).findall
_braced = re.compile(r"(?:^|[^$])(?:\$\$)*\$\{").search


def unspecify(word: str) -> Word:
    """Return what a word of a command line means: `%%` is `%`, `$$` is `$`, a specifier makes it a `Spec`.

    Raises `Malformed` where systemd would put a variable in place (`${X}` anywhere, a word that starts with
    a single `$`), and for a `%` that is neither doubled nor one of `SPECIFIERS`.
    """
    if "$" in word:
        if _braced(word) or (word[0] == "$" and word[1:2] != "$"):
            raise Malformed("systemd puts a variable in place of a word that starts with $, and of ${…}")
        word = word.replace("$$", "$")
    return unpercent(word)


def unpercent(text: str) -> Word:
    """Return what text means where `$` is literal: `Environment=` of `[Service]`, `Description=`, paths.

    Raises `Malformed` as `unspecify` does for `%`.
    """
    if "%" not in text:
        return text
    letters = set(_after_percent(text))
    if letters == {"%"}:
        return text.replace("%%", "%")
    if not letters <= {"%", *SPECIFIERS}:
        raise Malformed("a % here is neither doubled nor a known specifier")
    return Spec(text)
