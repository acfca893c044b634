"""Keys and passwords in the text of a fleet, by how they look and by what they are called.

A fleet is in git, and what was in git once is known to everybody who ever clones it.
"""

import re
from typing import Final

from quadgen.engines.base import Refusal

_LOOKS: Final = (
    r"(?<![\w-])(?:"
    r"hf_[A-Za-z0-9]{20,}|sk-[\w-]*\w{16}[\w-]{4,}|gh[opsur]_[A-Za-z0-9]{20,}|github_pat_\w{20,}"
    r"|glpat-[\w-]{20,}|npm_[A-Za-z0-9]{30,}|pypi-[\w-]{30,}|xox[abposr]-[\w-]{10,}|AKIA[0-9A-Z]{16}|AIza[\w-]{35}"
    r"|nvapi-[\w-]{20,}|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}"
    r")|-----BEGIN [A-Z ]*PRIVATE KEY|://[^/\s:@]+:[^/\s@]+@|\bBearer [\w.~+/-]{16,}"
)
"""The shapes that those who issue keys gave them so that they can be found; a password in an address."""
_maybe: Final = re.compile(
    r"hf_|sk-|gh[opsur]_|github_pat_|glpat-|npm_|pypi-|xox|AKIA|AIza|nvapi-|eyJ|-----BEGIN|://|Bearer "
).search
"""What one of them begins with: most texts hold none of it, and are done with in a tenth of the time."""
_CALLED: Final = re.compile(
    r"(?:^|[_.-])(?:api_?key|access_?key|private_?key|secret|secret_?key|token|passw(?:or)?d|passphrase|credentials?)$",
    re.IGNORECASE,
)
_PLAIN: Final = re.compile(
    r"|true|false|yes|no|on|off|none|null|empty|dummy|unused|not-(?:needed|required|used)|sk-no-key-required"
    r"|[\d.]+|[/~%].*|<.*>|\[.*\]|\{\{.*\}\}|\$\w+|\$\{\w+\}",
    re.IGNORECASE,
)
"""Values that are no secret whatever they are called: switches, numbers, paths, what stands for no key, a tokenizer's
own tokens (`<|im_end|>`, `[PAD]`), and references to what holds the secret."""


def is_secret(text: str) -> bool:
    """Whether a text holds something that looks like a key."""
    return _maybe(text) is not None and re.search(_LOOKS, text) is not None


def names_secret(name: str, value: str) -> bool:
    """Whether a name says that its value is a key or a password, and the value may be one."""
    return _CALLED.search(name) is not None and _PLAIN.fullmatch(value) is None


def refusal(where: str) -> Refusal:
    """What to say; the value itself is never repeated."""
    return "literal-secret", f"{where} holds a key, which is then in git", "use `secrets` or `api_key`, and revoke it"
