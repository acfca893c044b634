"""How a server dies without a word of its own, and what the kernel, systemd and a shell say of it.

systemd: src/core/service.c and src/core/unit.c of v255 (https://github.com/systemd/systemd-stable). A container's exit
status is 128 and the number of the signal, and `podman run` passes it on.
"""

from typing import Final

from quadgen.server_log.wording import Depth, fatal

_REPORT: Final = "look for this text among the issues of the engine, and try another build"
_CPU: Final = (
    "take a build for this CPU, or one that chooses at run time; that --help and --version work proves nothing"
)
_MORE: Final = "raise limits or the host's memory, lower --cache-ram, or take a smaller context"

ENDING: Final = (
    fatal(
        "assertion-failed",
        r"GGML_ASSERT\((?P<check>.*)\) failed",
        "the server stopped itself at {file}:{at}, because this does not hold: {check}",
        "b11434 ggml/src/ggml.c:257",
        _REPORT,
        located=True,
    ),
    fatal(
        "assertion-failed",
        r"GGML_ASSERT: (?P<file>.*):(?P<at>\d+): (?P<check>.*)",
        "the server stopped itself at {file}:{at}, because this does not hold: {check}",
        "https://github.com/ggml-org/llama.cpp/issues/5990",
        _REPORT,
    ),
    fatal(
        "gpu-error",
        r"(?P<backend>CUDA|ROCm|MUSA) error: (?P<reason>.+)",
        "{backend} failed: {reason}",
        "b11434 ggml/src/ggml-cuda/ggml-cuda.cu:105; https://github.com/ggml-org/llama.cpp/issues/27430; "
        "https://github.com/ggml-org/llama.cpp/issues/23934",
        "compare the card, the driver and the build with those that the engine was measured on",
    ),
    fatal(
        "gpu-error",
        r"(?:device lost on (?P<device>.*)|(?P<reason>ErrorDeviceLost))",
        "the Vulkan device was lost while it worked",
        "b11434 ggml/src/ggml-vulkan/ggml-vulkan.cpp:260; https://github.com/ggml-org/llama.cpp/issues/13248",
        "look for a reset of the card in the kernel's log, and for a newer driver",
    ),
    fatal(
        "aborted",
        r"(?P<reason>.+)",
        "the server stopped itself at {file}:{at}: {reason}",
        "b11434 ggml/src/ggml.c:257; https://github.com/ggml-org/llama.cpp/issues/16953",
        _REPORT,
        depth=Depth.FAILURE,
        located=True,
    ),
    fatal(
        "illegal-instruction",
        r"(?:(?:\S+: line \d+: +)?(?:\d+ )?Illegal instruction\b|traps: \S+ trap invalid opcode"
        r"|(?:Main|Control) process exited, code=\w+, status=(?:4/ILL|132/))",
        "the build uses instructions that this CPU does not have",
        "https://github.com/AmpereComputingAI/llama.cpp/issues/20; "
        "https://github.com/abetlen/llama-cpp-python/issues/839; "
        "https://github.com/systemd/systemd-stable/blob/v255.13/src/core/unit.c",
        _CPU,
    ),
    fatal(
        "out-of-memory",
        r"(?:A process of this unit has been killed by the OOM killer|Failed with result 'oom-kill'"
        r"|(?:Memory cgroup out|Out) of memory: Killed process)",
        "the kernel killed the server, because the host's memory or the unit's limit was used up",
        "https://github.com/ggml-org/llama.cpp/issues/20509; https://github.com/ollama/ollama/issues/11231; "
        "https://github.com/jncraton/languagemodels/issues/31",
        _MORE,
    ),
    fatal(
        "out-of-memory",
        r"(?:what\(\): +)?std::bad_alloc$",
        "the host's memory does not hold a buffer that the server asks for",
        "https://en.cppreference.com/w/cpp/memory/new/bad_alloc",
        _MORE,
    ),
    fatal(
        "start-timed-out",
        r"start(?:-pre|-post)? operation timed out\. ",
        "the server was not up when its start_timeout had passed",
        "https://github.com/systemd/systemd-stable/blob/v255.13/src/core/service.c#L4093",
        "raise start_timeout: a large model on a slow disk takes minutes",
    ),
    fatal(
        "program-missing",
        r"(?:Main|Control) process exited, code=exited, status=203/EXEC",
        "systemd could not start the program",
        "https://github.com/systemd/systemd-stable/blob/v255.13/src/core/service.c",
        "the engine's `binary` must exist on the host, and be executable there",
    ),
    fatal(
        "uncaught-exception",
        r"what\(\): +(?P<reason>.+)",
        "the server died of an error that it did not expect: {reason}",
        "https://github.com/ggml-org/llama.cpp/issues/13248",
        _REPORT,
        depth=Depth.FAILURE,
    ),
    fatal(
        "uncaught-exception",
        r"terminate called after throwing an instance of '(?P<type>.*)'",
        "the server died of an error that it did not expect ({type})",
        "https://github.com/ggml-org/llama.cpp/issues/13248",
        _REPORT,
        depth=Depth.END,
    ),
    fatal(
        "crashed",
        r"(?:Main|Control) process exited, code=\w+, status=(?P<status>(?:6/ABRT|11/SEGV|7/BUS|8/FPE|134/|139/)\S*)",
        "the server crashed (status {status})",
        "https://github.com/systemd/systemd-stable/blob/v255.13/src/core/unit.c",
        _REPORT,
        depth=Depth.END,
    ),
    fatal(
        "killed",
        r"(?:Main|Control) process exited, code=\w+, status=(?P<status>(?:9/KILL|137/)\S*)",
        "the server was killed (status {status}): by the kernel for its memory, or after its time to stop had passed",
        "https://github.com/systemd/systemd-stable/blob/v255.13/src/core/unit.c",
        "the kernel's log (`journalctl -k`) says whether it was for memory",
        depth=Depth.END,
    ),
    fatal(
        "exited",
        r"(?:Main|Control) process exited, code=exited, status=(?P<status>[1-9]\S*)",
        "the server ended itself with status {status}",
        "https://github.com/systemd/systemd-stable/blob/v255.13/src/core/unit.c",
        "the lines before this one say why",
        depth=Depth.END,
    ),
)
