"""The ways by which a server comes to speculate without a profile.

All were looked for in llama.cpp's sources at b10435 and b11434 (https://github.com/ggml-org/llama.cpp):

- options: those of the help's section `speculative`, what names a drafter or its cache elsewhere in it
  (`--spec-draft-type-k`, `--lookup-cache-static`, `--spec-default`), and presets of a model with its drafter
  (`--fim-qwen-7b-spec`); common/arg.cpp. `-md` alone is enough: the type is then read from the file.
- variables: `LLAMA_ARG_` and such a name. They are read before the arguments, and the types of
  `LLAMA_ARG_SPEC_TYPE` and `--spec-type` add up (common_params_parse_ex), so no argument takes them back.
- router mode: `--models-preset` names an INI file of options, `--models-dir` attaches whatever `mtp-*.gguf` is
  beside a model (common/preset.cpp), and a `preset.ini` in the repository of `--hf-repo` replaces the model by
  such a file (tools/server/server.cpp). `--hf-repo` itself belongs to a fleet's models, not to its flags.
- config.ini in /etc/llama.cpp and in ${XDG_CONFIG_HOME:-~/.config}/llama.cpp, which every server reads before
  its variables (common_params_apply_system_config). A later `--spec-type none` does not undo it. Units set
  XDG_CONFIG_HOME to a directory that is not there, so that nothing may be mounted at that name either.

A request cannot turn speculation on (tools/server/server-schema.cpp: those fields are compiled out).
"""

import re
from collections.abc import Mapping
from posixpath import normpath
from typing import Final

from quadgen.engines.flag_table import Option

WORDS: Final = frozenset({
    "spec", "speculative", "draft", "drafter", "lookup", "ngram", "mtp", "eagle", "eagle3", "dflash", "dspark",
})  # fmt: skip
"""A name with one of these among its words reaches speculation, also in builds and forks yet to come."""

SHORT: Final = frozenset({
    "Cbd", "Cd", "Crd", "cmoed", "ctkd", "ctvd", "devd", "hfd", "hfrd", "lcd", "lcs", "md", "ncmoed", "ngld",
    "otd", "tbd", "td",
})  # fmt: skip
"""Short names of such options, without the dash; a test derives them from the flag tables."""

ROUTER: Final = frozenset({"models-dir", "models-preset"})

_VARIABLES: Final = frozenset(
    {"LLAMA_ARG_HF_REPO", "LLAMA_ARG_MODELS_DIR", "LLAMA_ARG_MODELS_PRESET", "XDG_CONFIG_HOME"}
)
"""Variables that lead to a file of options. LLAMA_ARG_HF_REPO does even beside `--model`, which it replaces."""

_FIELDS: Final[Mapping[str, str]] = {
    "device-draft": "draft_device", "devd": "draft_device", "spec-draft-device": "draft_device",
    "hf-repo-draft": "draft_model", "hfd": "draft_model", "hfrd": "draft_model", "md": "draft_model",
    "model-draft": "draft_model", "spec-draft-hf": "draft_model", "spec-draft-hf-repo": "draft_model",
    "spec-draft-model": "draft_model",
    "hf-repo": "model", "models-dir": "model", "models-preset": "model",
}  # fmt: skip

A_PROFILE: Final = "make it a profile: profiles.NAME with spec_types, then `profile: NAME`"
"""What to do instead of going through one of these doors, where no field of a service leads there."""

NOWHERE: Final = "/nonexistent"
"""XDG_CONFIG_HOME of every server that quadgen renders."""

_CONFIGS: Final = ("/etc/llama.cpp/config.ini", f"{NOWHERE}/llama.cpp/config.ini")
_USER_CONFIG: Final = ".config/llama.cpp/config.ini"
_IN_TEXT: Final = re.compile(r"(?<![\w-])--[A-Za-z][\w-]*|\b(?:LLAMA_ARG_\w+|XDG_CONFIG_HOME)\b")


def _bare(name: str) -> str:
    """Strip a flag of its dashes and value, with `-` for `_`; write a variable as the flag it stands for."""
    name = name.partition("=")[0]
    if name.startswith("LLAMA_ARG_"):
        name = name.removeprefix("LLAMA_ARG_").lower()
    return name.lstrip("-").replace("_", "-")


def reaches_speculation_flag(name: str) -> bool:
    """Whether a flag reaches speculation: `--spec-type`, `--spec_type`, `spec-type`, `--spec-type=x`, `-md`.

    For a key of `flags`, with or without dashes, and for an argument that begins with a dash. A value is no flag:
    `draft`, the value of `--alias`, would be taken for the old `--draft`.
    """
    bare = _bare(name)
    return bare in SHORT or bare in ROUTER or not WORDS.isdisjoint(bare.split("-"))


def reaches_speculation_env(name: str) -> bool:
    """Whether a variable reaches speculation, by its name."""
    if name in _VARIABLES:
        return True
    return name.startswith("LLAMA_ARG_") and not WORDS.isdisjoint(_bare(name).split("-"))


def reaches_speculation_path(path: str, *, home: str | None = None) -> bool:
    """Whether something mounted at `path`, as the server sees it, can bring the config.ini that it reads.

    It can at the file itself and at each directory above it. `home` is the server's HOME; with None only the
    files below /etc and below `NOWHERE` count.
    """
    mounted = _absolute(path).rstrip("/")
    files = _CONFIGS if home is None else (*_CONFIGS, _absolute(f"{home}/{_USER_CONFIG}"))
    return any(file == mounted or file.startswith(f"{mounted}/") for file in files)


def _absolute(path: str) -> str:
    """`path` without `.`, `..` and doubled slashes, the two that POSIX lets stand at its beginning included."""
    return normpath(f"/{path.lstrip('/')}")


def doors_in(text: str) -> tuple[str, ...]:
    """Find the long flags and the variables in free text, such as `PodmanArgs=`, that reach speculation.

    Short flags are left out: `-td` is `podman run`'s own.
    """
    return tuple(
        word
        for word in _IN_TEXT.findall(text)
        if (reaches_speculation_flag(word) if word.startswith("-") else reaches_speculation_env(word))
    )


def is_speculative(option: Option) -> bool:
    """Whether an option of a flag table reaches speculation, by its section or by any of its names.

    For learned tables of builds whose short names nobody has listed.
    """
    return option.section == "speculative" or any(map(reaches_speculation_flag, option.names))


def field_for(name: str) -> str | None:
    """Name the field of a service that says what this flag or variable says; None where a profile does."""
    return _FIELDS.get(_bare(name))
