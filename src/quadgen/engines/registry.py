"""The engines that quadgen knows, by kind."""

from collections.abc import Mapping
from typing import Final

from quadgen.engines.base import Engine
from quadgen.engines.halogen import HALOGEN
from quadgen.engines.llama_cpp import LLAMA_CPP

ENGINES: Final[Mapping[str, Engine]] = {engine.kind: engine for engine in (LLAMA_CPP, HALOGEN)}
