"""Which of quadgen's own variables a server of a measurement gets that runs natively.

A variable of the shell can choose another card or other threads (GGML_VK_VISIBLE_DEVICES, OMP_NUM_THREADS), and a unit
sees none of the shell's. Without a fleet there is no unit, and whoever sets one for a measurement means it.
"""

import re
from collections.abc import Mapping
from typing import Final

_UNIT: Final = frozenset({"HOME", "LANG", "LOGNAME", "PATH", "SHELL", "USER"})
"""What systemd gives a service: systemd.exec(5), Environment Variables in Spawned Processes."""
_LIBRARIES: Final = "LD_LIBRARY_PATH"
_engine: Final = re.compile(
    r"(?:AMD|CUDA|DRI|GGML|GGUF|GOMP|GPU|HIP|HSA|KMP|LD|LIBVA|LLAMA|MALLOC|MESA|MKL|NV|NVIDIA|OMP|OPENBLAS|BLIS|ONEAPI|RADV"
    r"|ROCBLAS|ROCR|SYCL|UR|VK|ZES?)_|GLIBC_TUNABLES$"
).match
"""What chooses devices, threads, kernels or libraries, of the engine and of what lies below it."""


def of_unit(environ: Mapping[str, str], *, named: bool) -> dict[str, str]:
    """Those that its unit would have; with `named`, a program that is none of the fleet's, where its libraries lie."""
    kept = _UNIT | {_LIBRARIES} if named else _UNIT
    return {name: value for name, value in environ.items() if name in kept}


def telling(environ: Mapping[str, str]) -> dict[str, str]:
    """Those of what a server gets that can change its figures; LLAMA_* are no server's."""
    return {name: value for name, value in environ.items() if _engine(name) and not name.startswith("LLAMA_")}
