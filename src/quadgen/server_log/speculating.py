"""How a server says what became of its drafters: in vain, only in part, or as it was told."""

from typing import Final

from quadgen.server_log.wording import Depth, fatal, silent, tells

_NONE: Final = "it answers without speculation: remove the profile, or give it what it needs"
_PAIR: Final = "take a drafter that was made from the target's family, with the same tokens"
_ONE: Final = "take the drafter that its publisher made for this target, and name its own type in spec_types"

SPECULATING: Final = (
    fatal(
        "no-mtp-head",
        r"context type MTP requested but model doesn't contain MTP layers",
        "draft-mtp was asked for, and the model (or the draft model beside it) has no MTP head",
        "b11434 src/llama-context.cpp:3886; https://github.com/ggml-org/llama.cpp/issues/27839",
        "take draft-mtp out of the profile, or a checkpoint that has its head; no other draft-* type goes with it",
    ),
    fatal(
        "draft-context-failed",
        r"failed to create MTP context",
        "the drafter was loaded, and no context could be made for it",
        "b11434 tools/server/server-context.cpp:1258; b9310 tools/server/server-context.cpp:947",
        "the lines before this one say why: no head, or no memory",
        depth=Depth.FAILURE,
    ),
    fatal(
        "draft-model-unloadable",
        r"failed to load draft model, '(?P<file>.*)'",
        "the draft model {file} cannot be loaded",
        "b11434 tools/server/server-context.cpp:1253",
        "the lines before this one say why",
        depth=Depth.FAILURE,
    ),
    fatal(
        "dflash-mismatch",
        r"GGML_ASSERT\(target_layer_ids_n > 0",
        "the draft model is no DFlash drafter: it names no layers of its target",
        "b11434 common/speculative.cpp:1033",
        _ONE,
        located=True,
    ),
    fatal(
        "drafter-of-another-target",
        r"(?P<type>EAGLE3|DFlash): target layer (?:id )?\d+ "
        r"(?:exceeds target n_layer \d+|input not extracted)",
        "the {type} drafter was made for another target: it reads layers that this one does not have",
        "b11434 common/speculative.cpp:606; b11434 common/speculative.cpp:1215",
        _ONE,
        located=True,
    ),
    fatal(
        "lookup-cache-missing",
        r"failed to open (?P<which>static|dynamic) lookup cache: ",
        "the file that --lookup-cache-{which} names cannot be opened",
        "b11434 common/speculative.cpp:2153; b11434 common/speculative.cpp:2166",
        "the file must exist where the server runs, or the flag must go",
    ),
    fatal(
        "synthetic-acceptance-alone",
        r"synthetic acceptance requires an initialized speculative decoding context",
        "--spec-synth-len or --spec-synth-rates is given, and no drafter runs",
        "b11434 tools/server/server-context.cpp:1416",
        "these two are for measuring a drafter: without one they must go",
    ),
    silent(
        "draft-context-missing",
        r"draft-simple requires a draft context",
        "draft-simple was asked for without a draft model, and the other drafters of the list are lost with it",
        "b11434 common/speculative.cpp:239",
        "give the profile a draft_model, or take draft-simple out of it",
    ),
    silent(
        "draft-context-missing",
        r"draft model is not specified - cannot use 'draft' type",
        "a draft model was asked for, and none is named",
        "b9310 common/speculative.cpp:1364",
        "give the profile a draft_model, or take the type out of it",
    ),
    silent(
        "vocabulary-mismatch",
        r"draft model (?P<token>bos|eos) tokens must match target model to use speculation",
        "target and draft model treat the {token} token differently",
        "b11434 common/speculative.cpp:126; b11434 common/speculative.cpp:134",
        _PAIR,
    ),
    silent(
        "vocabulary-mismatch",
        r"draft model vocab type must match target model to use speculation but",
        "target and draft model have tokenizers of different types",
        "b11434 common/speculative.cpp:119",
        _PAIR,
    ),
    silent(
        "vocabulary-mismatch",
        r"(?:draft model vocab must closely match target model to use speculation but )?target vocab size "
        r"(?P<target>\d+) does not match draft vocab size (?P<draft>\d+)",
        "the target has {target} tokens, and the draft model {draft}",
        "b11434 common/speculative.cpp:148; b9310 common/speculative.cpp:100",
        _PAIR,
    ),
    silent(
        "vocabulary-mismatch",
        r"(?:draft model vocab must match target model to use speculation but )?token (?P<token>\d+) content differs - "
        r"target '(?P<target>.*)', draft '(?P<draft>.*)'",
        "token {token} is '{target}' to the target and '{draft}' to the draft model",
        "b11434 common/speculative.cpp:159; b9310 common/speculative.cpp:111",
        _PAIR,
    ),
    silent(
        "vocabulary-mismatch",
        r"(?:the target and draft vocabs are not compatible|draft model vocab type must match target model to use "
        r"speculation$)",
        "target and draft model do not have the same tokens",
        "b11434 common/speculative.cpp:287; b11434 common/speculative.cpp:289",
        _PAIR,
        depth=Depth.FAILURE,
    ),
    silent(
        "eagle3-mismatch",
        r"draft model is not eagle3 \(expected 3 extract layers, got (?P<got>\d+)\)",
        "the draft model is no EAGLE-3 drafter: it reads {got} layers of its target, and not 3",
        "b11434 common/speculative.cpp:562",
        _ONE,
    ),
    silent(
        "drafter-without-confidence",
        r"DSpark draft has no confidence head",
        "the DSpark drafter has no confidence head, and --spec-draft-p-min needs one",
        "b11434 common/speculative.cpp:1064",
        "set spec-draft-p-min to 0",
    ),
    silent(
        "speculation-unsupported",
        r"speculative decoding not supported by this context",
        "this model's cache cannot take tokens back, so nothing can be drafted for it",
        "b11434 tools/server/server-context.cpp:1375",
        "use the profile none",
    ),
    silent(
        "speculation-failed",
        r"failed to initialize speculative decoding context: (?P<reason>.*)",
        "speculation could not be set up: {reason}",
        "b11434 tools/server/server-context.cpp:1396",
        _NONE,
        depth=Depth.FAILURE,
    ),
    silent(
        "router-mode",
        r"(?:starting server in router mode|NOTE: router mode is experimental)",
        "it was started without a model, as a router: healthy, and serving nothing of its own",
        "b11434 tools/server/server.cpp:422; b9310 tools/server/server.cpp:331",
        "the unit must pass --model; an empty variable in its place looks just like this",
    ),
    silent(
        "no-drafters",
        r"no implementations specified for speculative decoding",
        "no drafter runs: none was asked for, or those that were need a draft model",
        "b11434 common/speculative.cpp:2786; b9310 common/speculative.cpp:1450",
        _NONE,
        depth=Depth.END,
    ),
    tells(
        "drafter-added",
        r"adding speculative implementation '(?P<type>[\w-]+)'",
        "the drafter {type} is set up",
        "b11434 common/speculative.cpp:244; b9310 common/speculative.cpp:182",
    ),
    tells(
        "drafter-detected",
        r"auto-detected speculative type '(?P<type>[\w-]+)'",
        "the draft model itself says that it is for {type}",
        "b11434 common/speculative.cpp:2383",
    ),
    tells(
        "speculation-ready",
        r"speculative decoding context initialized",
        "speculation is on",
        "b11434 tools/server/server-context.cpp:1408; b9310 tools/server/server-context.cpp:1041",
    ),
)
