"""The work of `quadgen agreement`: two servers, the prompts, and what to say of the way they were asked."""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

from quadgen import disk
from quadgen.agreeing.asking import Agreement, Setting, agreement
from quadgen.agreeing.prompts import prompts, shipped
from quadgen.cli.progress import stage
from quadgen.cli.servers import api_key
from quadgen.problems import Unavailable
from quadgen.server.client import Server, connected
from quadgen.server.speaking import Speaker


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The command line. What there is two of is the target's and the drafter's."""

    urls: tuple[str, str]
    models: tuple[str | None, str | None]
    key_files: tuple[str | None, str | None]
    width: int
    tokens: int
    prompts: str | None
    chat: bool | None
    timeout: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was found, and where."""

    urls: tuple[str, str]
    """Without anything secret."""
    models: tuple[str | None, str | None]
    """What the servers were asked for."""
    found: Agreement
    notes: tuple[str, ...]


def answer(asked: Asked) -> Answer:
    """Do what was asked. Raises `Rejected` and `Unavailable`."""
    texts = shipped() if asked.prompts is None else prompts(asked.prompts, disk.read_file(asked.prompts))
    setting = Setting(width=asked.width, tokens=asked.tokens, chat=asked.chat)
    with ExitStack() as stack:
        servers = [
            stack.enter_context(connected(url, environ=os.environ, api_key=api_key(file), model=model))
            for url, model, file in zip(asked.urls, asked.models, asked.key_files, strict=True)
        ]
        target, draft = (Speaker(server=each, patience=asked.timeout) for each in servers)
        done = 0

        def notify(finished: int, total: int, name: str) -> None:
            nonlocal done
            done = finished
            stage(finished, total, name)

        try:
            found = agreement(target, draft, texts, setting, notify)
        except Unavailable as error:
            if done > 1:
                raise Unavailable(f"{error} (in prompt {done} of {len(texts)})") from None
            raise
        return Answer(
            urls=(servers[0].url, servers[1].url),
            models=(servers[0].model, servers[1].model),
            found=found,
            notes=(*found.notes, *_same(*servers)),
        )


def _same(target: Server, draft: Server) -> Iterator[str]:
    if (target.url, target.model) == (draft.url, draft.model):
        yield "target and drafter are the same server: it agrees with itself, whatever a drafter would do"
