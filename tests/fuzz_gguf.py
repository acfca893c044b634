"""Breaks GGUF files at random, and makes sure that the reader says so and does nothing else.

    python tests/fuzz_gguf.py --seconds 600 [--seed 7]

A file may be read or refused with `Malformed`. It may take no other exception, no second, and no memory but a small
multiple of the bytes that it has. What breaks this is printed with its first bytes, and ends the run with 1; the same
seed makes the same files again.
"""

import argparse
import random
import sys
import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from quadgen.facts.reading import facts
from quadgen.gguf.source import Malformed
from raw_gguf import ARRAY, F32, FLAG, I8, I32, TEXT, U8, U16, U32, U64, Held, Raw

SECOND: Final = 1.0
"""Of processor time: a machine may do other things meanwhile."""
SHOWN: Final = 1000
TIMES, BESIDES = 24, 2**16
"""Memory that a file may take: for each of its bytes, and on top. A tensor of 24 bytes becomes a tuple of 300."""
EDGES: Final = (
    0,
    1,
    2,
    3,
    8,
    9,
    63,
    64,
    127,
    128,
    255,
    256,
    1023,
    1024,
    2**16,
    2**24,
    2**30,
    2**31 - 1,
    2**31,
    2**32 - 1,
)
LARGE: Final = (2**32, 2**36, 2**40, 2**61, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
_SEED: Final = Raw(
    keys=[
        ("general.architecture", TEXT, "llama"), ("general.alignment", U32, 32), ("llama.block_count", U32, 2),
        ("llama.rope.freq_base", F32, 0.5), ("llama.flags", ARRAY, (FLAG, [True, False])), ("general.name", TEXT, "é"),
        ("llama.head_count", ARRAY, (I32, [1, 2, 3])), ("tokenizer.ggml.model", TEXT, "gpt2"),
        ("tokenizer.ggml.tokens", ARRAY, (TEXT, ["a", "", "[PAD1]", "longer", *"0123456789"])),
        ("tokenizer.ggml.token_type", ARRAY, (I32, [1, 2, 5, 5])), ("tokenizer.ggml.merges", ARRAY, (TEXT, ["a b"])),
        ("tokenizer.ggml.eos_token_id", U32, 2), ("split.count", U16, 1), ("x", U64, 5), ("y", I8, -1), ("z", U8, 1),
        ("general.file_type", U32, 15),
    ],
    tensors=[
        ("token_embd.weight", (32, 2), 8), ("blk.0.attn_q.weight", (4,), 0), ("blk.1.ffn_up_exps.weight", (2, 2), 1),
        ("blk.1.nextn.eh_proj.weight", (256,), 12), ("output.weight", (4, 1, 1, 1), 0),
    ],
)  # fmt: skip
SEEDS: Final = [
    replace(_SEED, version=version, big_endian=big).file() for version in (1, 2, 3) for big in (False, True)
] + [
    Raw().file(), Raw(keys=[("k", ARRAY, (TEXT, [""] * 500))]).file(),
    Raw(keys=[(f"{number}", U8, 1) for number in range(300)]).file(),
    Raw(tensors=[(f"{number}", (), 0) for number in range(300)]).file(),
]  # fmt: skip


@dataclass(slots=True)
class Tally:
    """What a run came to."""

    executions: int = 0
    read: int = 0
    slowest: float = 0.0
    largest: float = 0.0
    """The most memory that a file took, in times of what it may take."""


def broken(chance: random.Random) -> bytes:
    """Return one of the seeds with some bytes changed, cut out, doubled or put elsewhere."""
    data = bytearray(chance.choice(SEEDS))
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        at = chance.randrange(len(data) + 1)
        size = chance.choice((1, 1, 2, 4, 8, 8, 16, 64))
        match chance.randrange(8):
            case 0 | 1 | 2:
                width = chance.choice((4, 8))
                number = chance.choice(EDGES if width == 4 else (*EDGES, *LARGE))
                data[at : at + width] = number.to_bytes(width, chance.choice(("little", "big")))
            case 3:
                data[at : at + 1] = chance.randbytes(1)
            case 4:
                del data[at : at + size]
            case 5:
                data[at:at] = chance.randbytes(size)
            case 6:
                place = chance.randrange(len(data) + 1)
                data[at:at] = data[place : place + size]
            case _:
                del data[at if chance.randrange(4) == 0 else len(data) :]
    return bytes(data)


def run(seconds: float, seed: int) -> Iterator[tuple[Tally, str | None]]:
    """Break files for a while; after each, what happened so far, and what must not happen."""
    chance, tally, end = random.Random(seed), Tally(), time.perf_counter() + seconds  # noqa: S311 - repeatable
    tracemalloc.start()
    while time.perf_counter() < end:
        data = broken(chance)
        size = len(data) if chance.randrange(3) else None
        source = Held(data, window=chance.choice((1, 16, 4096)), size=size)
        fault = None
        tracemalloc.reset_peak()
        before, began = tracemalloc.get_traced_memory()[0], time.process_time()
        try:
            facts([source])
            tally.read += 1
        except Malformed as refusal:
            if not 0 <= refusal.offset <= len(data) or not refusal.message.isprintable():
                fault = f"an odd refusal: {refusal.message!r} at {refusal.offset}"
        except Exception as error:  # noqa: BLE001 - this is what is looked for
            fault = repr(error)
        took, memory = time.process_time() - began, tracemalloc.get_traced_memory()[1] - before
        tally.executions += 1
        tally.slowest = max(tally.slowest, took)
        tally.largest = max(tally.largest, memory / (TIMES * len(data) + BESIDES))
        if took > SECOND:
            fault = f"{took:.1f} s"
        elif memory > TIMES * len(data) + BESIDES:
            fault = f"{memory} bytes of memory for {len(data)}"
        yield tally, f"file {tally.executions}: {fault}\n{data[:SHOWN]!r}" if fault else None
    tracemalloc.stop()


def main() -> int:
    """Run for as long as the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    tally, faults = Tally(), 0
    for tally, fault in run(asked.seconds, asked.seed):  # noqa: B007 - the last one is printed
        if fault is not None:
            faults += 1
            sys.stdout.write(f"{fault}\n")
    sys.stdout.write(
        f"{tally.executions} files, {tally.read} of them read, {faults} faults; the slowest took {tally.slowest:.3f} s,"
        f" the largest {tally.largest:.0%} of the memory that it may take\n"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
