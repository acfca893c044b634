"""How a server speaks of the machine: memory, the port, devices, and that it begins and comes up."""

from typing import Final

from quadgen.server_log.wording import Depth, Marks, fatal, tells, warns

_SMALLER: Final = "a smaller context, fewer slots, a smaller quantisation or a smaller draft width needs less"
_CARDS: Final = "the server may go on with the CPU alone: check the driver, and which devices the unit gets"

MACHINE: Final = (
    # Memory
    fatal(
        "out-of-memory",
        r"allocating (?P<size>[\d.]+) MiB on device (?P<device>\d+): cudaMalloc failed: (?P<reason>.*)",
        "{size} MiB do not fit on GPU {device}: {reason}",
        "b11434 ggml/src/ggml-cuda/ggml-cuda.cu:888; https://github.com/ggml-org/llama.cpp/issues/20431",
        _SMALLER,
    ),
    fatal(
        "out-of-memory",
        r"(?P<backend>CUDA|ROCm|MUSA) error: out of memory",
        "a GPU ran out of memory ({backend})",
        "b11434 ggml/src/ggml-cuda/ggml-cuda.cu:105; https://github.com/ollama/ollama/issues/738",
        _SMALLER,
    ),
    fatal(
        "out-of-memory",
        r"(?:Device m|M)emory allocation of size (?P<size>\d+) failed",
        "{size} bytes do not fit on the Vulkan device, or are more than it gives at once",
        "b11434 ggml/src/ggml-vulkan/ggml-vulkan-buffers.cpp:226; https://github.com/ggml-org/llama.cpp/issues/29270",
        _SMALLER,
    ),
    fatal(
        "out-of-memory",
        r"ErrorOutOf(?:Device|Host)Memory",
        "a Vulkan device ran out of memory",
        "https://github.com/ggml-org/llama.cpp/issues/15256",
        _SMALLER,
        depth=Depth.FAILURE,
    ),
    fatal(
        "out-of-memory",
        r"VK_ERROR_OUT_OF_(?:DEVICE|HOST)_MEMORY",
        "a Vulkan device ran out of memory",
        "https://github.com/ggml-org/llama.cpp/issues/8492",
        _SMALLER,
        depth=Depth.FAILURE,
        located=True,
    ),
    fatal(
        "out-of-memory",
        r"Requested buffer size exceeds device (?:buffer size|memory allocation) limit",
        "one buffer is larger than the Vulkan device gives at once",
        "b11434 ggml/src/ggml-vulkan/ggml-vulkan-buffers.cpp:32",
        _SMALLER,
    ),
    fatal(
        "out-of-memory",
        r"can't allocate (?P<size>\d+) Bytes of memory on (?P<where>host|device(?:/GPU)?)",
        "{size} bytes do not fit in the memory of the {where} (SYCL)",
        "b11434 ggml/src/ggml-sycl/ggml-sycl.cpp:1048",
        _SMALLER,
    ),
    fatal(
        "out-of-memory",
        r"failed to allocate (?P<where>\S+) buffer of size (?P<size>\d+)",
        "{size} bytes do not fit in the memory of {where}",
        "b11434 ggml/src/ggml-alloc.c:941; b11434 ggml/src/ggml-backend.cpp:102",
        _SMALLER,
    ),
    fatal(
        "out-of-memory",
        r"(?:insufficient memory \(attempted to allocate +[\d.]+ MB\)|failed to allocate buffer of size \d+)",
        "the host's memory does not hold a buffer that the server asks for",
        "b11434 ggml/src/ggml.c:381; b11434 ggml/src/ggml-backend.cpp:2607",
        _SMALLER,
    ),
    fatal(
        "out-of-memory",
        r"(?:unable to allocate \S+ buffer|failed to allocate (?:buffer for (?:kv|rs) cache"
        r"|compute (?:pp |tg )?buffers))",
        "the model, its cache or its work space does not fit in memory",
        "b11434 src/llama-model.cpp:1888; b11434 src/llama-kv-cache.cpp:288; b11434 src/llama-context.cpp:686; "
        "https://github.com/gpustack/gpustack/issues/1269",
        _SMALLER,
        depth=Depth.FAILURE,
    ),
    warns(
        "memory-found-after-all",
        r"compute buffer allocation failed, retrying without pipeline parallelism",
        "the work space did not fit at first, and the server goes on without pipeline parallelism",
        "b11434 src/llama-context.cpp:680; https://github.com/ggml-org/llama.cpp/pull/26297",
        _SMALLER,
        marks=Marks.RECOVERY,
    ),
    # The port
    fatal(
        "port-in-use",
        r"couldn't bind HTTP server socket, hostname: (?P<host>.*), port: (?P<port>\d+)",
        "{host} port {port} cannot be had: another process has it, or {host} is no address of this machine",
        "b11434 tools/server/server-http.cpp:517; https://github.com/neavo/OneClickLLAMA/issues/10",
        "`ss -ltnp` on the host names who has the port",
    ),
    fatal(
        "port-in-use",
        r"(?:Failed to bind port \d+ \(A|E(?:RRO\[|rror: ).*bind: a)ddress already in use",
        "the port that the container publishes is taken on the host",
        "https://github.com/podman-container-tools/podman/issues/24365; "
        "https://github.com/podman-container-tools/podman/issues/22846; "
        "https://github.com/podman-container-tools/podman/issues/6762",
        "`ss -ltnp` on the host names who has the port",
    ),
    # Devices that it does without
    warns(
        "no-gpu",
        r"failed to initialize (?P<backend>CUDA|ROCm|MUSA): (?P<reason>.*)",
        "{backend} found no card that it can use: {reason}",
        "b11434 ggml/src/ggml-cuda/ggml-cuda.cu:226; https://github.com/ollama/ollama/issues/10421",
        _CARDS,
    ),
    warns(
        "no-gpu",
        r"(?:no usable GPU found, --gpu-layers|No devices found\.$)",
        "the server found no GPU",
        "b11434 common/arg.cpp:2803; b11434 ggml/src/ggml-vulkan/ggml-vulkan.cpp:5409; "
        "https://github.com/ggml-org/llama.cpp/issues/22748",
        _CARDS,
    ),
    # How a server begins, and comes up
    tells(
        "starting",
        r"(?:initializing \.\.\.$|verbosity = -?\d+ \(adjust |build: \d+ \(|loading model '.*'$"
        r"|Start(?:ing|ed) \S+\.service\b)",
        "the server begins",
        "b11434 common/common.cpp:409; b11434 tools/server/server-context.cpp:1143; b9310 common/common.cpp:384; "
        "https://github.com/neavo/OneClickLLAMA/issues/10",
        marks=Marks.RUN,
    ),
    tells(
        "listening",
        r"(?:(?:router )?server is )?listening on (?P<address>\S+)",
        "the server listens on {address}",
        "b11434 tools/server/server.cpp:526; b9310 tools/server/server.cpp:340; "
        "https://github.com/ggml-org/llama.cpp/issues/11337",
        marks=Marks.RECOVERY,
    ),
)
