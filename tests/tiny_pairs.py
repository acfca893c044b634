"""Checkpoints with which something is wrong: heads, and drafters that were not made for the target.

    drafter = tiny_pairs.make(tmp_path, "eagle3-beyond")

Each is one of `tiny_gguf.MODELS` with a change, and those are here under their names too.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import tiny_gguf
from tiny_gguf import INNER, KEYS, LAYERS, VOCABULARY, WIDTH, Model, Shapes

NARROW: Final = WIDTH // 2


def _is(name: str, **keys: Any) -> Model:
    """One of the plain models with other keys; `None` takes one out."""
    model = tiny_gguf.MODELS[name]()
    changed = {key.replace("__", "."): value for key, value in keys.items()}
    return replace(model, keys={key: value for key, value in {**model.keys, **changed}.items() if value is not None})


def _without(model: Model, *starts: str) -> Model:
    shapes = {name: shape for name, shape in model.shapes.items() if not name.startswith(starts)}
    return replace(model, shapes=shapes)


def _again(model: Model, block: int, new: int) -> Model:
    """A copy of a block under another number."""
    found = {name: shape for name, shape in model.shapes.items() if name.startswith(f"blk.{block}.")}
    copy = {name.replace(f"blk.{block}.", f"blk.{new}.", 1): shape for name, shape in found.items()}
    return replace(model, shapes={**model.shapes, **copy})


def _narrow(model: Model) -> Model:
    """With half the embedding length, in its keys and in its tensors."""
    shapes: Shapes = {}
    for name, shape in model.shapes.items():
        shapes[name] = tuple(size // 2 if size in (WIDTH, 2 * WIDTH, 3 * WIDTH) else size for size in shape)
    for name in shapes:
        if name.endswith(("attn_q.weight", "attn_k.weight", "attn_v.weight")):
            shapes[name] = (shapes[name][0], model.shapes[name][1])
        if name.endswith("attn_output.weight"):
            shapes[name] = (model.shapes[name][0], shapes[name][1])
    return replace(model, keys={**model.keys, "embedding_length": NARROW}, shapes=shapes)


def _hy_v3(*, heads: int, announced: int, sidecar: bool = False) -> Model:
    """An architecture that loads without the heads that it announces, and that drafts with one after the other."""
    plain = tiny_gguf.MODELS["plain"]()
    keys = {**plain.keys, "block_count": LAYERS + announced, "nextn_predict_layers": announced,
            "expert_feed_forward_length": INNER}  # fmt: skip
    norms: Shapes = {f"blk.{block}.attn_{part}_norm.weight": (KEYS,) for block in range(LAYERS) for part in "qk"}
    model = replace(plain, arch="hy_v3", keys=keys, shapes={**plain.shapes, **norms})
    wiring = {"eh_proj": (2 * WIDTH, WIDTH), "enorm": (WIDTH,), "hnorm": (WIDTH,)}
    for block in range(LAYERS, LAYERS + heads):
        model = _again(model, 0, block)
        nextn = {f"blk.{block}.nextn.{name}.weight": shape for name, shape in wiring.items()}
        model = replace(model, shapes={**model.shapes, **nextn})
    return _without(model, *(f"blk.{block}." for block in range(LAYERS))) if sidecar else model


def _glm4() -> Model:
    """An architecture that keeps the tensors of a head and has no graph for it."""
    plain = tiny_gguf.MODELS["plain"]()
    keys = {**plain.keys, "block_count": LAYERS + 1, "nextn_predict_layers": 1}
    model = _again(plain, 0, LAYERS)
    shapes: Shapes = {}
    for name, shape in model.shapes.items():
        if "ffn_gate" in name:
            continue
        shapes[name] = (WIDTH, 2 * INNER) if "ffn_up" in name else shape
        if "attn_norm" in name:
            shapes[name.replace("attn_norm", "post_attention_norm")] = (WIDTH,)
            shapes[name.replace("attn_norm", "post_ffw_norm")] = (WIDTH,)
    nextn = {"eh_proj": (2 * WIDTH, WIDTH), "enorm": (WIDTH,), "hnorm": (WIDTH,)}
    shapes |= {f"blk.{LAYERS}.nextn.{name}.weight": shape for name, shape in nextn.items()}
    return replace(model, arch="glm4", keys=keys, shapes=shapes)


def _resized(name: str, size: int) -> Model:
    """With another number of tokens, in the tensors too."""
    model = tiny_gguf.MODELS[name]()
    shapes = {each: tuple(size if part == VOCABULARY else part for part in shape) for each, shape in
              model.shapes.items()}  # fmt: skip
    return replace(model, size=size, shapes=shapes)


def _wide_target(model: Model) -> Model:
    """An eagle3 drafter for a target twice as wide."""
    return replace(
        model,
        keys={**model.keys, "target_hidden_size": 2 * WIDTH},
        shapes={**model.shapes, "fc.weight": (6 * WIDTH, WIDTH)},
    )


_PLAIN: Final = tiny_gguf.MODELS["plain"]
MODELS: Final[Mapping[str, Callable[[], Model]]] = {
    **tiny_gguf.MODELS,
    "slightly-smaller": lambda: _resized("plain", VOCABULARY - 40),
    "glm4": _glm4,
    "glm4-stripped": lambda: _without(_glm4(), f"blk.{LAYERS}."),
    "keyless": lambda: _is("headed", nextn_predict_layers=None),
    "keyless-trunk": lambda: _is("headed", nextn_predict_layers=None, block_count=LAYERS),
    "zero-key": lambda: _without(_is("headed", nextn_predict_layers=0, block_count=LAYERS), f"blk.{LAYERS}."),
    "two-heads": lambda: _again(_is("headed", nextn_predict_layers=2, block_count=LAYERS + 2), LAYERS, LAYERS + 1),
    "one-of-two": lambda: _is("headed", nextn_predict_layers=2, block_count=LAYERS + 2),
    "only-wiring": lambda: _without(tiny_gguf.MODELS["headed"](), f"blk.{LAYERS}.nextn."),
    "early-head": lambda: _without(_again(_is("headed"), LAYERS, LAYERS - 1), f"blk.{LAYERS}."),
    "too-many-heads": lambda: _is("headed", nextn_predict_layers=LAYERS + 2),
    "hy": lambda: _hy_v3(heads=1, announced=1),
    "hy-two": lambda: _hy_v3(heads=2, announced=2),
    "hy-one-of-two": lambda: _hy_v3(heads=1, announced=2),
    "hy-stripped": lambda: _hy_v3(heads=0, announced=1),
    "hy-head": lambda: _hy_v3(heads=1, announced=1, sidecar=True),
    "head-bare": lambda: _without(tiny_gguf.MODELS["head"](), "token_embd", "output.weight"),
    "head-shared": lambda: _without(_is("head", nextn_shared_target_tensors=True), "token_embd", "output.weight"),
    "head-narrow": lambda: _narrow(tiny_gguf.MODELS["head"]()),
    "head-smaller": lambda: _resized("head", VOCABULARY - 40),
    "head-larger": lambda: _resized("head", VOCABULARY + 40),
    "head-no-norm": lambda: _without(tiny_gguf.MODELS["head"](), "output_norm"),
    "eagle3-wide": lambda: _wide_target(tiny_gguf.MODELS["eagle3"]()),
    "eagle3-beyond": lambda: _is("eagle3", target_layers=[0, 1, LAYERS + 1]),
    "eagle3-last": lambda: _is("eagle3", target_layers=[0, 1, LAYERS]),
    "eagle3-two": lambda: replace(
        _is("eagle3", target_layers=[0, 1]),
        shapes={**tiny_gguf.MODELS["eagle3"]().shapes, "fc.weight": (2 * WIDTH, WIDTH)},
    ),
    "eagle3-bare": lambda: _without(tiny_gguf.MODELS["eagle3"](), "token_embd", "output.weight"),
    "eagle3-narrow": lambda: replace(
        _narrow(tiny_gguf.MODELS["eagle3"]()),
        shapes={**_narrow(tiny_gguf.MODELS["eagle3"]()).shapes, "fc.weight": (3 * WIDTH, NARROW)},
    ),
    "eagle3-narrow-bare": lambda: _without(MODELS["eagle3-narrow"](), "token_embd", "output.weight"),
    "eagle3-smaller": lambda: _resized("eagle3", VOCABULARY - 40),
    "eagle3-larger": lambda: _resized("eagle3", VOCABULARY + 40),
    "dflash-narrow": lambda: _narrow(tiny_gguf.MODELS["dflash"]()),
    "dflash-bare": lambda: _without(tiny_gguf.MODELS["dflash"](), "token_embd", "output.weight"),
    "dflash-beyond": lambda: _is("dflash", target_layers=[0, LAYERS + 1]),
    "dflash-last": lambda: _is("dflash", target_layers=[0, LAYERS]),
    "dflash-maskless": lambda: replace(tiny_gguf.MODELS["dflash"](), mask=False),
    "dflash-one": lambda: _is("dflash", block_size=1),
    "dflash-three": lambda: replace(
        _is("dflash", target_layers=[0, 1, 1]),
        shapes={**tiny_gguf.MODELS["dflash"]().shapes, "fc.weight": (3 * WIDTH, WIDTH)},
    ),
    "dflash-smaller": lambda: _resized("dflash", VOCABULARY - 40),
    "dspark-unsure": lambda: _is("dspark", has_confidence_head=False),
    "dspark-anchored": lambda: _is("dspark", sample_from_anchor=False),
    "dspark-blockless": lambda: _is("dspark", block_size=None),
    "projector": lambda: replace(
        _PLAIN(), arch="clip", keys={}, shapes={"v.patch_embd.weight": (WIDTH, WIDTH)}, kind="mmproj"
    ),
    "adapter": lambda: replace(
        _PLAIN(), keys={}, shapes={"blk.0.attn_q.weight.lora_a": (WIDTH, 8)}, kind="adapter"
    ),
    "embedder": lambda: _is("plain", pooling_type=1),
}  # fmt: skip


def make(directory: Path, name: str) -> Path:
    """Write one of `MODELS` below `directory`, unless it is there, and give its path."""
    path = directory / f"{name}.gguf"
    if not path.exists():
        tiny_gguf.write(path, MODELS[name]())
    return path
