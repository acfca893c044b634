"""How a server says that a model, or what belongs to it, cannot be loaded."""

from typing import Final

from quadgen.server_log.wording import Depth, fatal

_PLACE: Final = "the file must lie below models_dir, and that must be mounted where the server runs"
_AGAIN: Final = "fetch or copy the file again, and compare its size and its hash with those of its publisher"
_TENSORS: Final = (
    "the file is damaged, was converted for another build, or has lost a part that its header announces, such as an "
    "MTP head"
)

MODELS: Final = (
    fatal(
        "model-missing",
        r"failed to open (?:GGUF file )?'?(?P<file>.*?)'?(?: \(|: )No such file or directory",
        "the file {file} is not there",
        "b11434 ggml/src/gguf.cpp:1021; b11434 src/llama-mmap.cpp:222",
        _PLACE,
    ),
    fatal(
        "model-unreadable",
        r"failed to open GGUF file '(?P<file>.*)' \((?P<reason>.*)\)",
        "the file {file} cannot be opened: {reason}",
        "b11434 ggml/src/gguf.cpp:1021",
        "the user of the service must be able to read it, and to enter every directory above it",
    ),
    fatal(
        "not-a-gguf",
        r"(?:failed to read magic|invalid magic characters|bad GGUF version|GGUFv1 is no longer supported"
        r"|this GGUF file (?:is )?version)",
        "what the model names is no GGUF file that this build reads",
        "b11434 ggml/src/gguf.cpp:471; b11434 ggml/src/gguf.cpp:516",
        _AGAIN,
    ),
    fatal(
        "model-truncated",
        r"tensor '(?P<tensor>[^']*)' data is not within the file bounds",
        "the model ends before the data of its tensor {tensor}",
        "b11434 src/llama-model-loader.h:48",
        _AGAIN,
    ),
    fatal(
        "unknown-architecture",
        r"un(?:known|supported) model architecture: '(?P<arch>[^']*)'",
        "this build knows no models of the architecture {arch}",
        "b11434 src/llama-model.cpp:373; b11434 src/llama-model.cpp:352",
        "take a newer build, or the one that the publisher of the model names",
    ),
    fatal(
        "stripped-head",
        r"missing tensor '(?P<tensor>blk\.\d+\.nextn\.[^']*)'",
        "the model announces an MTP head, and its tensor {tensor} is missing",
        "b11434 src/llama-model-loader.cpp:1159",
        "take a file that still has its head, or one whose header does not announce it",
    ),
    fatal(
        "stripped-head",
        r"GGML_ASSERT\(.*(?P<part>MTP block missing [\w. ]+)",
        "the model announces an MTP head that it does not have whole: {part}",
        "b11434 src/models/deepseek2.cpp:181",
        "take a file that still has its head, or do not ask for draft-mtp",
        located=True,
    ),
    fatal(
        "wrong-tensors",
        r"(?:missing )?tensor '(?P<tensor>[^']*)'(?: not found| has wrong shape|$)",
        "the model lacks the tensor {tensor}, or has it in another shape than its header announces",
        "b11434 src/llama-model-loader.cpp:891; b11434 src/llama-model-loader.cpp:917",
        _TENSORS,
    ),
    fatal(
        "wrong-tensors",
        r"wrong number of tensors; expected (?P<expected>\d+), got (?P<got>\d+)",
        "the model holds {expected} tensors, and its header accounts for {got}",
        "b11434 src/llama-model-loader.cpp:1398",
        _TENSORS,
    ),
    fatal(
        "mmproj-unloadable",
        r"failed to load multimodal model, '(?P<file>.*)'",
        "the projector {file} cannot be loaded",
        "b11434 tools/server/server-context.cpp:1297",
        "mmproj must name the projector that was published with this model",
    ),
    fatal(
        "lora-unloadable",
        r"failed to load lora adapter '(?P<file>.*)'",
        "the adapter {file} cannot be loaded",
        "b11434 common/common.cpp:1310",
        "an adapter fits the model that it was trained on",
    ),
    fatal(
        "model-not-fetched",
        r"failed to download model: (?P<reason>.*)",
        "the model could not be fetched: {reason}",
        "b11434 tools/server/server.cpp:410",
        "the host needs the network and a writable models_dir for this, or the file in place",
    ),
    fatal(
        "model-not-fetched",
        r"failed to load model,? ''",
        "the server has no model file: it could not be fetched, and is not in the cache",
        "b11434 tools/server/server-context.cpp:1214",
        "the host needs the network and a writable models_dir for this, or the file in place",
    ),
    fatal(
        "bad-chat-template",
        r"(?:the supplied chat template is not supported|chat template parsing error)",
        "the server cannot use the chat template",
        "b11434 common/arg.cpp:958; b11434 tools/server/server-context.cpp:1600",
        "take a chat_template_file that was written for this model, or none: most models bring theirs",
    ),
    fatal(
        "quantised-v-without-flash-attention",
        r"(?:quantized V cache (?:requires flash_attn|was requested, but this requires Flash Attention)"
        r"|V cache quantization requires flash_attn)",
        "a quantised V cache needs flash attention, which is off or which this device cannot do",
        "b11434 src/llama-context.cpp:3849; b11434 src/llama-context.cpp:469; b9310 src/llama-context.cpp:3435",
        "set flash-attn to on, or cache_type for v to f16",
    ),
    fatal(
        "cache-type-does-not-fit",
        r"(?P<which>[KV]) cache type (?P<type>\w+) with block size (?P<size>\d+) does not divide",
        "the {which} cache cannot be {type}: the model's heads are no multiple of {size} wide",
        "b11434 src/llama-context.cpp:3858; b11434 src/llama-context.cpp:3869",
        "set cache_type to f16 or q8_0",
    ),
    fatal(
        "unknown-device",
        r"Invalid device index (?P<device>\d+) in GGML_VK_VISIBLE_DEVICES",
        "the server sees no Vulkan device {device}, which GGML_VK_VISIBLE_DEVICES names",
        "b11434 ggml/src/ggml-vulkan/ggml-vulkan.cpp:5286",
        "compare `llama-server --list-devices` in the same unit without that variable",
    ),
    fatal(
        "unknown-device",
        r"invalid value for main_gpu: (?P<device>-?\d+) \(available devices: (?P<number>\d+)\)",
        "there is no device {device} for --main-gpu: the server sees {number}",
        "b11434 src/llama.cpp:294",
        "compare `llama-server --list-devices` in the same unit",
    ),
    fatal(
        "model-unloadable",
        r"error loading model: (?P<reason>.*)",
        "the model cannot be loaded: {reason}",
        "b11434 src/llama.cpp:375",
        _TENSORS,
        depth=Depth.FAILURE,
    ),
    fatal(
        "model-unloadable",
        r"failed to load model,? '(?P<file>.+)'",
        "the model {file} cannot be loaded",
        "b11434 tools/server/server-context.cpp:1214; b11434 common/common.cpp:1404",
        "the lines before this one say why",
        depth=Depth.FAILURE,
    ),
    fatal(
        "context-failed",
        r"failed to create(?:_| )context with model '(?P<file>.*)'",
        "the model {file} was loaded, and no context could be made for it",
        "b11434 tools/server/server-context.cpp:1219; b11434 common/common.cpp:1414",
        "the lines before this one say why: mostly memory, or a cache type that does not fit",
        depth=Depth.FAILURE,
    ),
    fatal(
        "ended-while-starting",
        r"exiting due to (?P<what>model loading|HTTP server) error",
        "the server ended itself: {what} error",
        "b11434 tools/server/server.cpp:491; b11434 tools/server/server.cpp:477",
        "the lines before this one say why",
        depth=Depth.END,
    ),
)
