"""A running llama-server as one that reads tokens and goes on: what counting agreement asks of it.

Seen with b11434: a prompt of ids is taken as it is, `return_tokens` gives the ids of the answer with the one that ends
it, and /detokenize answers an id beyond the vocabulary with HTTP 500 (so none is asked for).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn, TypeGuard

from quadgen.agreeing.vocabulary import MOST
from quadgen.problems import Unavailable
from quadgen.server.client import Server

FALLBACK: Final = (
    "{%- for message in messages -%}\n"
    "  {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' -}}\n"
    "{%- endfor -%}\n"
    "{%- if add_generation_prompt -%}\n"
    "  {{- '<|im_start|>assistant\n' -}}\n"
    "{%- endif -%}"
)
"""What llama-server shows as the template of a model that has none (CHATML_TEMPLATE_SRC, common/chat.cpp:715)."""
_ANY: Final = "0"
"""A text that every vocabulary has."""
_FLAT: Final = 1e4
"""A temperature at which the logits of a model no longer matter beside the biases below."""
_LIKELY: Final = 1e6
"""The bias of ids that shall be among the likeliest."""
_CERTAIN: Final = 1.5e6
"""The bias of the one that shall be written."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Speaker:
    """One server. Every method raises `NoAnswer`, and `Unavailable` where an answer has another form."""

    server: Server
    patience: float
    """Seconds that it may take to answer, waiting for a slot included."""

    def ids(self, text: str) -> tuple[int, ...]:
        """The tokens of a text, nothing put before or after it."""
        return self._tokenized(text, special=False)

    def prompt(self, text: str) -> tuple[int, ...]:
        """The tokens of a prompt as the server itself would take it: with what begins every text, names as tokens."""
        return self._tokenized(text, special=True)

    def text(self, ids: Sequence[int]) -> str:
        """What ids say; see `agreeing.vocabulary.Reads`."""
        content = self._post("/detokenize", {"tokens": list(ids)}).get("content")
        return content if isinstance(content, str) else self._odd("/detokenize")

    def raw(self, ids: Sequence[int]) -> Mapping[int, bytes]:
        """The bytes of each id, from a step of sampling in which they are the likeliest.

        What is written then is another token, whose text is whole: where it is not, no likelihoods are told.
        """
        whole = self.ids(_ANY)[-1]
        body = {
            "prompt": [whole], "n_predict": 1, "cache_prompt": False, "samplers": ["temperature"],
            "temperature": _FLAT, "n_probs": len(ids) + 1, "post_sampling_probs": True,
            "logit_bias": [*([each, _LIKELY] for each in ids), [whole, _CERTAIN]],
        }  # fmt: skip
        match self._post("/completion", body).get("completion_probabilities"):
            case [{"top_probs": [*likely]}]:
                told = [(each.get("id"), each.get("bytes")) for each in likely if isinstance(each, dict)]
                return {at: bytes(octets) for at, octets in told if isinstance(at, int) and _are_bytes(octets)}
        return {}

    def goes(self, tokens: Sequence[int], count: int, *, again: bool = True) -> tuple[int, ...]:
        """How the model goes on with the likeliest tokens, `count` of them, or fewer if its text ends.

        `again` lets the server start from what it has of these tokens from before: quicker, and fit for a drafter.
        Whatever the server's own sampling is, penalties and biases included, it has no part in it.
        """
        body = {
            "prompt": list(tokens), "n_predict": count, "temperature": 0, "samplers": ["temperature"],
            "logit_bias": [], "grammar": "", "stop": [], "cache_prompt": again, "return_tokens": True,
        }  # fmt: skip
        return self._ids("/completion", self._post("/completion", body))

    def chat(self, text: str) -> str:
        """A user's message in the model's template for chats."""
        answer = self._post("/apply-template", {"messages": [{"role": "user", "content": text}]})
        prompt = answer.get("prompt")
        return prompt if isinstance(prompt, str) else self._odd("/apply-template")

    def chats(self) -> bool:
        """Whether the model has a template for chats of its own."""
        answer = self.server.get("/props")
        template = answer.get("chat_template") if isinstance(answer, dict) else None
        return isinstance(template, str) and template.strip() not in {"", FALLBACK}

    def context(self) -> int | None:
        """The tokens that one conversation may have; None where the server does not say."""
        match self.server.get("/props"):
            case {"default_generation_settings": {"n_ctx": int(tokens)}}:
                return tokens
        return None

    def vocabulary(self) -> tuple[int, int | None]:
        """How many tokens there are, and the type of the vocabulary as a number, from /v1/models."""
        model = self.server.model
        if model is not None:
            self.ids(_ANY)  # a router loads the model for that, and knows this of loaded ones alone
        answer = self.server.get("/v1/models")
        models = answer.get("data") if isinstance(answer, dict) else None
        named = [each for each in models if isinstance(each, dict)] if isinstance(models, list) else []
        if model is not None and len(named) > 1:
            named = [each for each in named if model == each.get("id") or model in (each.get("aliases") or ())]
        match named:
            case [{"meta": {"n_vocab": int(size)}}] if size > MOST:
                why = f"/v1/models says that it has more than {MOST} tokens, which no vocabulary has"
                raise Unavailable(f"cannot compare the tokens of {self.server.url}: {why}")
            case [{"meta": {"n_vocab": int(size), **meta}}] if size > 0:
                kind = meta.get("vocab_type")
                return size, kind if isinstance(kind, int) else None
        several = len(named) > 1 and model is None
        why = (
            "it serves several models: say which with --model, or --draft-model"
            if several
            else "/v1/models does not say how many tokens it has"
        )
        raise Unavailable(f"cannot compare the tokens of {self.server.url}: {why}")

    def _tokenized(self, text: str, *, special: bool) -> tuple[int, ...]:
        body = {"content": text, "add_special": special, "parse_special": special}
        ids = self._ids("/tokenize", self._post("/tokenize", body))
        return ids if ids or not text else self._odd("/tokenize")

    def _ids(self, path: str, answer: Mapping[str, Any]) -> tuple[int, ...]:
        tokens = answer.get("tokens")
        if not isinstance(tokens, list) or not all(type(each) is int for each in tokens):
            self._odd(path)
        return tuple(tokens)

    def _post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        answer = self.server.post(path, body, timeout=self.patience)
        return answer if isinstance(answer, dict) else self._odd(path)

    def _odd(self, path: str) -> NoReturn:
        raise Unavailable(f"cannot ask {self.server.url}{path}: its answer is not that of a llama-server")


def _are_bytes(octets: object) -> TypeGuard[list[int]]:
    return isinstance(octets, list) and all(isinstance(each, int) and each in range(256) for each in octets)
