"""The text of `llama-server --help`, read into options.

Its grammar is that of `common_arg::to_string`, the same from b10434 to b11434: an option begins in column 0 with
its names (those that turn it off come last) and a hint for each argument; its help begins in column 40.
https://github.com/ggml-org/llama.cpp/blob/master/common/arg.cpp
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from quadgen.engines.flag_table import Option
from quadgen.problems import Collector, Place, Problem, Rejected

_COLUMN: Final = 40
_SECTION: Final = re.compile(r"----- (.+?)(?: params)? -----\s*")
_HEAD: Final = re.compile(r"(-[^\s,]+(?:,\s+-[^\s,]+)*)(?:\s+(\S.*))?")
_HINTS: Final = re.compile(r"(?:<[^>]*>|\[[^\]]*\]|\{[^}]*\}|[^\s<\[{])+")
_CLOSED: Final = re.compile(r"\{([^{}\s]+)\}|\[([^\[\]\s]+)\]|<(\w+(?:\|\w+)+)>|([\w-]+(?:,[\w-]+)+)")
_ALLOWED: Final = re.compile(r"allowed values: ([\w.+-]+(?:, [\w.+-]+)*)")
_BULLET: Final = re.compile(r" ?- ([\w+-]+)( \(default\))?: ")
_BESIDE_A_NUMBER: Final = re.compile(r"an exact number, ((?:'\w+'|,? or |, )+)")
_ENV: Final = re.compile(r"\(env: (\w+)\)")
_DEFAULT: Final = re.compile(r"default: ?")
_NUMBER: Final = re.compile(r"(-?\d+(?:\.\d+)?)(?=$|[\s,;])")
_REMOVED: Final = re.compile(r"the argument has been removed\. (.+?)(?: \(env: \w+\))?$")
_INSTEAD: Final = re.compile(r"in favor of `?(--[\w-]+)")
_ONE_NUMBER: Final = re.compile(r"[A-Z]+|<\d+\.\.\.\d+>")
_WORD: Final = re.compile(r"[\w+-]+")

_ENOUGH: Final = 20
"""Problems after which nobody asks what else there is in a text that is no help text."""

_MARK: Final = "\ufeff"
"""A byte order mark, which some editors put before a text."""
_HINT: Final = "save what `llama-server --help` prints on its standard output"
_ANCHORS: Final = ("--model", "--temp", "--port", "--lora-init-without-apply")
"""Options that every server has, in the order of its help: of the first section to near the end of the last."""

_NUMBERS: Final[Mapping[str, str]] = {
    "--threads": "int", "--threads-batch": "int", "--n-cpu-moe": "int", "--n-cpu-ffn": "int",
    "--kv-unified-per-slot": "int", "--image-min-tokens": "int", "--image-max-tokens": "int",
    "--spec-draft-threads": "int", "--spec-draft-threads-batch": "int", "--spec-draft-n-cpu-moe": "int",
    "--rope-scale": "float", "--rope-freq-base": "float", "--rope-freq-scale": "float",
    "--spec-synth-len": "float",
}  # fmt: skip
"""Numbers whose kind no default shows; from the handlers in common/arg.cpp of b10435 and b11434."""

_REPEATS: Final = frozenset({
    "--alias", "--api-key", "--api-key-file", "--control-vector", "--control-vector-scaled",
    "--dry-sequence-breaker", "--logit-bias", "--lora", "--lora-scaled", "--override-kv", "--override-tensor",
    "--reverse-prompt", "--spec-draft-override-tensor", "--spec-type", "--tags",
})  # fmt: skip
"""Options whose handlers append to a list, by common/arg.cpp of b10435 and b11434; the help does not say."""


def parse(text: str, *, file: str = "--help") -> tuple[Option, ...]:
    """Read a help text into its options, in its order. Lines before the first section are ignored.

    Raises `Rejected` with `unreadable-help`: for each line that fits no rule, where there is no option at all, or where
    a name begins two options. `file` is the name that problems give the text.
    """
    collector = Collector()
    blocks: list[tuple[str, re.Match[str], list[str]]] = []
    section = ""
    for number, line in enumerate(text.removeprefix(_MARK).splitlines(), 1):
        if title := _SECTION.fullmatch(line):
            section = title[1]
        elif not section or not line.strip():
            continue
        elif line[:_COLUMN].isspace() and blocks:
            blocks[-1][2].append(line[_COLUMN:])
        elif head := _HEAD.fullmatch(_head(line)):
            blocks.append((section, head, [line[_COLUMN:]] if _is_shared(line) else []))
        else:
            place = Place(file=file, line=number, column=1, length=max(1, len(line)), text=line)
            message = "no option of a help text begins or goes on like this"
            collector.add(Problem(code="unreadable-help", message=message, file=file, place=place))
            if len(collector.problems) == _ENOUGH:
                break
    if not blocks:
        message = f"{file} holds no options of a help text"
        collector.add(Problem(code="unreadable-help", message=message, file=file, hint=_HINT))
    collector.check()
    found = tuple(_option(*block) for block in blocks)
    names = Counter(name for option in found for name in {*option.names, *option.negations})
    twice = [name for name, many in names.items() if many > 1]
    if twice:
        many = f" and {len(twice) - 1} more" if len(twice) > 1 else ""
        message = f"{twice[0]}{many} stand twice in {file}, so that it is no help text of one server"
        raise Rejected([Problem(code="unreadable-help", message=message, file=file, hint=_HINT)])
    return found


def check_whole(options: Iterable[Option], *, file: str) -> None:
    """Refuse options that cannot be all of a server's: raises `Rejected` with `unreadable-help`."""
    known = {name for option in options for name in option.names}
    missing = [name for name in _ANCHORS if name not in known]
    if missing:
        message = f"{file} is not the whole help of a llama-server: it has no {' and no '.join(missing)}"
        raise Rejected([Problem(code="unreadable-help", message=message, file=file, hint=_HINT)])


def _is_shared(line: str) -> bool:
    """Whether an option's help begins beside its names, which then end two columns before it."""
    return line[_COLUMN - 2 : _COLUMN] == "  "


def _head(line: str) -> str:
    return (line[:_COLUMN] if _is_shared(line) else line).rstrip()


def _option(section: str, head: re.Match[str], body: list[str]) -> Option:
    names, negations = _sides(re.split(r",\s+", head[1]))
    hints = _HINTS.findall(head[2] or "")
    help_text = " ".join(body)
    variable = _ENV.search(help_text)
    env = variable[1] if variable else None
    canonical = _canonical(names, env)
    default = _default(body, help_text)
    removed = _REMOVED.search(help_text)
    values = _values(hints, body, help_text, default)
    words = _BESIDE_A_NUMBER.search(help_text)
    counted = len(hints) == 1 and not values and not removed
    return Option(
        canonical=canonical,
        names=names,
        negations=negations,
        section=section,
        arity=len(hints),
        values=values,
        words=tuple(re.findall(r"'(\w+)'", words[1])) if words else (),
        number=_number(canonical, hints[0], default, worded=words is not None) if counted else None,
        commas=bool(hints) and ("comma-separated" in help_text or ",.." in hints[0]),
        repeats=canonical in _REPEATS,
        env=env,
        default=default,
        removed=removed[1] if removed else None,
        deprecated=_deprecated(help_text),
    )


def _sides(names: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Tell names from negations, which go from the last long name before the first `--no-` to the end."""
    turn = next((at for at, name in enumerate(names) if name.startswith("--no-")), len(names))
    positive = [at for at, name in enumerate(names[:turn]) if name.startswith("--")]
    if not positive or turn == len(names):
        return tuple(names), ()
    return tuple(names[: positive[-1] + 1]), tuple(names[positive[-1] + 1 :])


def _canonical(names: Iterable[str], env: str | None) -> str:
    """Choose the `--spec-` name, else the one that the variable spells, else the last long one.

    The engine itself writes the last (common/preset.cpp, to_args), which is an old one in `--ui, --webui`.
    """
    long = [name for name in names if name.startswith("--")] or list(names)
    spelled = "" if env is None else "--" + env.removeprefix("LLAMA_ARG_").lower().replace("_", "-")
    fallback = spelled if spelled in long else long[-1]
    return next((name for name in long if name.startswith("--spec-")), fallback)


def _default(body: list[str], help_text: str) -> str | None:
    found = _DEFAULT.search(help_text)
    if found is None:
        return next((bullet[1] for line in body if (bullet := _BULLET.match(line)) and bullet[2]), None)
    text = _ENV.sub("", _balanced(help_text[found.end() :])).strip()
    if quoted := re.match(r"'([^']*)'|\"([^\"]*)\"", text):
        return quoted[1] or quoted[2] or ""
    number = _NUMBER.match(text)
    return number[1] if number else text


def _balanced(text: str) -> str:
    """`text` up to the parenthesis that closes what was open before it."""
    depth = 0
    for at, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth < 0:
            return text[:at]
    return text


def _values(hints: list[str], body: list[str], help_text: str, default: str | None) -> tuple[str, ...]:
    """Find the closed set of words: in the hint, after `allowed values:`, or in a list of bullets."""
    if len(hints) != 1:
        return ()
    closed = _CLOSED.fullmatch(hints[0])
    if closed:
        return tuple(re.split(r"[,|]", next(group for group in closed.groups() if group)))
    if allowed := _ALLOWED.search(help_text):
        return tuple(allowed[1].split(", "))
    bullets = [bullet[1] for line in body if (bullet := _BULLET.match(line))]
    if not bullets or bullets[0].isdigit():
        return ()
    if default and _WORD.fullmatch(default) and default not in bullets:
        bullets.append(default)  # --reasoning-format takes auto, which has no bullet
    return tuple(bullets)


def _number(canonical: str, hint: str, default: str | None, *, worded: bool) -> str | None:
    if worded:
        return "int"
    if default is not None and _NUMBER.fullmatch(default) and _ONE_NUMBER.fullmatch(hint):
        return "float" if "." in default else "int"
    return _NUMBERS.get(canonical)


def _deprecated(help_text: str) -> str | None:
    if "DEPRECATED" not in help_text:
        return None
    instead = _INSTEAD.search(help_text)
    return f"use {instead[1]}" if instead else "leave it out: the engine names nothing instead"
