"""How a server refuses its arguments and its environment; all of it goes to standard error and ends with status 1.

common/arg.cpp words these alike in b9310, b9702, b10435, b10705, b10724 and b11434, where the source says no other.
"""

from typing import Final

from quadgen.server_log.wording import refused, warns

_FLAG: Final = r'error while handling argument "(?P<flag>[^"]*)": (?:error: )?'
_VARIABLE: Final = r'error while handling environment variable "(?P<variable>[^"]*)": (?:error: )?'
_VALUE: Final = (
    r"(?:unkn?own value for \S+: '|unknown speculative type: |Unsupported cache type: |invalid device: "
    r"|failed to open file ')"
)
_NUMBER: Final = r"sto(?:i|l|ll|ul|ull|f|d)$"
"""What the C++ library calls itself when a text is no number, or one that is out of range."""
_ELSEWHERE: Final = "the engine's `build` in fleet.yml must be the build that runs: `llama-server --version` says which"


ARGUMENTS: Final = (
    refused(
        "joined-flag",
        r"error: (?:invalid|unknown) argument: (?P<flag>--?[A-Za-z][\w-]*)=(?P<value>.*)",
        "{flag}={value} is one argument, and no build takes a flag and its value in one",
        "b11434 common/arg.cpp:830",
        "pass {flag} and its value as two arguments",
    ),
    refused(
        "unknown-flag",
        r"error: (?:invalid|unknown) argument: (?P<flag>.+)",
        "this build has no flag {flag}",
        "b11434 common/arg.cpp:830; https://github.com/ggml-org/llama.cpp/issues/7800",
        _ELSEWHERE,
    ),
    refused(
        "removed-flag",
        _FLAG + r"the argument has been removed\. (?:use )?(?P<successor>.*)",
        "this build has removed {flag}; its successor is {successor}",
        "b11434 common/arg.cpp:344",
        "say it with {successor}",
    ),
    refused(
        "flag-needs-value",
        _FLAG + r"expected value for argument",
        "{flag} needs a value, and nothing follows it",
        "b11434 common/arg.cpp:815",
        "give {flag} its value",
    ),
    refused(
        "flag-needs-value",
        _FLAG + _VALUE + r"(?P<value>--?[A-Za-z][\w-]*)",
        "{flag} stands without its value, and has taken the next flag, {value}, for it",
        "b11434 common/arg.cpp:1769; https://github.com/yazon/flexllama/issues/15; "
        "https://github.com/mostlygeek/llama-swap/issues/283",
        "give {flag} its value",
    ),
    refused(
        "flag-needs-value",
        r"unkn?own value for (?P<flag>\S+): '(?P<value>--?[A-Za-z][\w-]*)'",
        "{flag} stands without its value, and has taken the next flag, {value}, for it",
        "b11434 common/arg.cpp:1769; https://github.com/yazon/flexllama/issues/15",
        "give {flag} its value",
    ),
    refused(
        "not-a-number",
        _FLAG + _NUMBER,
        "{flag} takes a number, and what follows it is none, or is out of range",
        "b11434 common/arg.cpp:858",
        "write it in digits; if the value was left out, the next flag was taken for it",
    ),
    refused(
        "unknown-device",
        _FLAG + r"invalid device: ?(?P<device>.*)",
        'the server sees no device "{device}", which {flag} names',
        "b11434 common/arg.cpp:1135",
        "compare `llama-server --list-devices` in the same unit: a driver or a card that the unit does not get is "
        "missing there, and so is a backend that this build lacks",
    ),
    refused(
        "file-missing",
        _FLAG + r"failed to open file '(?P<file>.*)'",
        "{file}, which {flag} names, cannot be opened",
        "b11434 common/arg.cpp:70",
        "the file must exist where the server runs, and its user must be able to read it",
    ),
    refused(
        "bad-value",
        _FLAG + _VALUE + r"(?P<value>[^']*)",
        "{flag} does not take the value {value}",
        "b11434 common/arg.cpp:322; b11434 common/speculative.cpp:2337",
        "`llama-server --help` lists what {flag} takes",
    ),
    refused(
        "bad-value",
        _FLAG + r"(?P<reason>.*)",
        "{flag} does not take its value: {reason}",
        "b11434 common/arg.cpp:876",
        "`llama-server --help` lists what {flag} takes",
    ),
    refused(
        "bad-value",
        r"unkn?own value for (?P<flag>\S+): '(?P<value>[^']*)'",
        "{flag} does not take the value {value}",
        "b11434 common/arg.cpp:1769",
        "`llama-server --help` lists what {flag} takes",
    ),
    refused(
        "bad-environment",
        _VARIABLE + r"the argument has been removed\. (?:use )?(?P<successor>.*)",
        "the environment variable {variable} sets a flag that this build has removed; its successor is {successor}",
        "b11434 common/arg.cpp:807",
        "take {variable} out of the unit and the image: even unused it ends the server",
    ),
    refused(
        "bad-environment",
        _VARIABLE + _NUMBER,
        "the environment variable {variable} must be a number, and is none, or is out of range",
        "b11434 common/arg.cpp:807",
        "take {variable} out of the unit and the image, and set the flag",
    ),
    refused(
        "bad-environment",
        _VARIABLE + r"(?P<reason>.*)",
        "the environment variable {variable} has a value that this build does not take: {reason}",
        "b11434 common/arg.cpp:807",
        "take {variable} out of the unit and the image, and set the flag",
    ),
    warns(
        "drafters-add-up",
        r"LLAMA_ARG_SPEC_TYPE environment variable is set, but will be overwritten",
        "the drafters of LLAMA_ARG_SPEC_TYPE run beside those of --spec-type, although the server says that they lose",
        "b11434 common/arg.cpp:843",
        "take LLAMA_ARG_SPEC_TYPE out of the unit and the image",
    ),
    warns(
        "environment-overwritten",
        r"(?P<variable>\w+) environment variable is set, but will be overwritten by command line argument "
        r"(?P<flag>\S+)",
        "{flag} wins over the environment variable {variable}",
        "b11434 common/arg.cpp:843; https://github.com/ggml-org/llama.cpp/issues/23244",
        "harmless where the image sets {variable}, as the official ones set LLAMA_ARG_HOST",
    ),
    warns(
        "duplicate-flag",
        r"argument '(?P<flag>[^']*)' specified multiple times",
        "{flag} is given more than once, and only the last one counts",
        "b11434 common/arg.cpp:836",
        "give {flag} once",
    ),
    warns(
        "deprecated-flag",
        r"DEPRECATED: (?P<flag>--?[A-Za-z][\w-]*)(?: and --[\w-]+)? (?:is|are) deprecated(?:\.| and) (?P<advice>.*)",
        "{flag} will go in a later build: {advice}",
        "b10705 common/arg.cpp:2690; b11434 common/arg.cpp:2541",
        "replace it before the engine is updated",
    ),
    warns(
        "deprecated-flag",
        r"DEPRECATED: (?P<advice>.+)",
        "a later build will not do this any more: {advice}",
        "b10705 common/arg.cpp:884",
        "replace it before the engine is updated",
    ),
)
