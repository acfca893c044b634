"""Where llama-server computes: its devices by backend, and the images that are published for each."""

from collections.abc import Mapping
from typing import Final

from quadgen.engines.base import Ask, BackendDevices
from quadgen.resolution import EngineEntry

DEVICES: Final[Mapping[str, BackendDevices]] = {
    # ggml/include/ggml-cuda.h: one source serves CUDA and ROCm, so the prefix tells which was compiled
    "cuda": BackendDevices(
        prefix="CUDA", variable="CUDA_VISIBLE_DEVICES", joined=",".join, order=(("CUDA_DEVICE_ORDER", "PCI_BUS_ID"),),
        cdi=True, unit_nodes=("char-nvidia*",),
    ),
    "rocm": BackendDevices(
        prefix="ROCm", variable="HIP_VISIBLE_DEVICES", joined=",".join, render_nodes=True, always=("/dev/kfd",),
        nodes=("/dev/dri",), unit_nodes=("char-kfd", "char-drm"),
    ),
    "vulkan": BackendDevices(
        prefix="Vulkan", variable="GGML_VK_VISIBLE_DEVICES", joined=",".join, render_nodes=True, nodes=("/dev/dri",),
        unit_nodes=("char-drm", "char-nvidia*"),
    ),
    "sycl": BackendDevices(
        prefix="SYCL", variable="ONEAPI_DEVICE_SELECTOR", joined=lambda names: "level_zero:" + ",".join(names),
        render_nodes=True, nodes=("/dev/dri",), unit_nodes=("char-drm",),
    ),
}  # fmt: skip

# .github/workflows/docker.yml of b11434; every tag also exists as <tag>-bNNNN, but not for every build
_TAGS: Final = {
    "cuda": "server-cuda",
    "rocm": "server-rocm",
    "vulkan": "server-vulkan",
    "sycl": "server-intel",
    "cpu": "server",
}
_REGISTRY: Final = "ghcr.io/ggml-org/llama.cpp"


def image(engine: EngineEntry, backend: str) -> str | None:
    """The published image of a build; None where the backends are not those of one image."""
    if engine.backends - {"cpu"} not in ({backend} - {"cpu"}, frozenset({backend})):
        return None
    tag = _TAGS[backend]
    return f"{_REGISTRY}:{tag}-{engine.build}" if engine.build else f"{_REGISTRY}:{tag}"


def is_seen(ask: Ask, device: str) -> bool:
    """Whether a service may see a device: one of its own, or one of another backend that is compiled in."""
    for backend in ask.engine.backends & DEVICES.keys():
        number = DEVICES[backend].number(device)
        if number is not None:
            return backend != ask.backend or ask.devices.count is None or number < ask.devices.count
    return False
