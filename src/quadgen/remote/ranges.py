"""A file on a server as a source of bytes: ranges in growing windows, whatever the server makes of them."""

import re
from dataclasses import dataclass, field
from typing import Final

import httpx

from quadgen.gguf.foreign import HEAD, looks_like_page
from quadgen.gguf.source import Malformed
from quadgen.problems import Unavailable
from quadgen.remote.bodies import Body
from quadgen.remote.failures import Failed
from quadgen.remote.web import MOST, Answer, Spot, Web

WINDOW: Final = 2**20
LARGEST: Final = 8 * 2**20
"""Bytes that the first window has, and that the later ones, each twice the one before, grow to."""
STREAM: Final = 2**20
"""Bytes at a time of a body that nobody bounded: there is no request to save by reading more."""
_PART: Final = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(?:(\d{1,18})|\*)", re.ASCII)
_NONE: Final = re.compile(r"bytes \*/(\d{1,18})", re.ASCII)


@dataclass(slots=True, repr=False)
class RemoteFile:
    """A `Source`. What it fetches is checked: that it begins where it was asked to, and that it is of one file."""

    name: str
    """As messages call it, without credentials."""
    web: Web
    spot: Spot
    window: int = WINDOW
    hint: str = ""
    """What to add where a page comes in the place of the file."""
    size: int | None = None
    _tag: tuple[str, str] | None = field(default=None, init=False)
    """Which host called this version of the file how."""
    _body: Body | None = field(default=None, init=False)

    def read(self, offset: int, least: int) -> bytes:
        """As `Source.read`. Raises also `Malformed` where the file is a web page, and a better address is known."""
        pieces: list[bytes] = []
        have = stumbles = 0
        while have < least and (self.size is None or offset + have < self.size):
            missing = least - have
            if missing > self.web.left:
                raise Unavailable(
                    f"cannot read {self.name}: its header takes more than the {MOST // 2**20} MiB that quadgen reads "
                    "of a remote file"
                )
            failed = Failed("the server sends less than it is asked for", passing=True, wait=0)
            try:
                piece = self._piece(offset + have, missing)
            except Failed as error:
                piece, failed = b"", error
            if piece is None:
                break
            if len(piece) < missing and not self._ends_at(offset + have + len(piece)):
                stumbles += 1
                self.web.pause(failed, stumbles, self.name)
            pieces.append(piece)
            have += len(piece)
        found = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        if offset == 0 and self.hint and looks_like_page(found[:HEAD]):
            raise Malformed(f"not a GGUF file but a web page{self.hint}", offset=0)
        return found

    def close(self) -> None:
        """End what is still being sent."""
        if self._body is not None:
            self._body.close()
            self._body = None

    def _ends_at(self, position: int) -> bool:
        return self.size is not None and position >= self.size

    def _piece(self, at: int, least: int) -> bytes | None:
        """Some bytes from `at`, at least one; None where the file ends there. Raises `Failed` and `Unavailable`."""
        body = self._body
        if body is not None and not body.position <= at <= body.position + STREAM:
            self.close()
            body = None
        if body is None:
            want = min(max(least, self.window), self.web.left)
            if self.size is not None:
                want = min(want, self.size - at)
            body = self._body = self._asked(at, want)
            if body is None:
                return None
        bounded = body.end is not None and body.position <= at and body.end - at <= max(least, self.window)
        if at - body.position > self.web.left - least:
            self.close()
            raise Failed("the server sends only whole files, and the part that is needed is too far in", passing=False)
        try:
            body.skip(at)
            ready = body.position == at
            piece = (
                body.take(body.end - at if bounded and body.end is not None else max(least, STREAM)) if ready else b""
            )
        except Failed:
            self.close()
            raise
        self._after(body, bounded=bounded, short=len(piece) < least)
        return piece

    def _after(self, body: Body, *, bounded: bool, short: bool) -> None:
        """Keep the body for the next piece where it has one; note where the file ends."""
        if bounded:
            self.window = min(2 * self.window, LARGEST)
        if short and body.end is None and self.size is None:
            self.size = body.position  # a body without a length is at its end
        if short or bounded:
            self.close()

    def _asked(self, at: int, want: int) -> Body | None:
        """Ask for a part; where there is none such, without an end, since some servers hold that against small files.

        None where the file ends at `at` or before.
        """
        for part in (f"bytes={at}-{at + want - 1}", f"bytes={at}-", None):
            answer = self.web.ask(self.spot, self.name, {"Range": part} if part is not None else {})
            self.spot = answer.spot
            if answer.response.status_code != httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
                return self._checked(answer, at)
            answer.response.close()
            found = _NONE.fullmatch(answer.response.headers.get("content-range", ""))
            total = int(found[1]) if found else None
            if total is not None:
                self._same(total, answer)
            if (total is not None and total <= at) or (total is None and at and part is not None and part[-1] == "-"):
                self.size = at if total is None else total
                return None
        raise Failed("the server has no part of it for anyone (416)", passing=False)

    def _checked(self, answer: Answer, at: int) -> Body:
        try:
            return self._body_of(answer, at)
        except Failed:
            answer.response.close()
            raise

    def _body_of(self, answer: Answer, at: int) -> Body:
        status, headers = answer.response.status_code, answer.response.headers
        if headers.get("content-encoding", "").strip().lower() not in {"", "identity", "none"}:
            raise Failed("the server sends it compressed, although asked not to", passing=False)
        if status == httpx.codes.OK:
            length = headers.get("content-length", "")
            total = int(length) if length.isdecimal() and len(length) < 19 else None  # noqa: PLR2004 - below 2^63
            self._same(total, answer)
            return Body(answer, self.web, position=0, end=total)
        if status != httpx.codes.PARTIAL_CONTENT:
            raise Failed(f"the server answers {status} in the place of a file", passing=False)
        part = _PART.fullmatch(headers.get("content-range", "").strip())
        if part is None:
            raise Failed("the server sends a part and does not say which (206 without Content-Range)", passing=False)
        first, last, total = int(part[1]), int(part[2]), int(part[3]) if part[3] else None
        if first != at:
            raise Failed(
                f"the server was asked for the bytes from {at} on and sends those from {first} on", passing=False
            )
        if last < first or (total is not None and last >= total):
            raise Failed(
                f"the server sends the bytes {part[1]} to {part[2]} of {part[3]}, which cannot be", passing=False
            )
        self._same(total, answer)
        return Body(answer, self.web, position=first, end=last + 1)

    def _same(self, total: int | None, answer: Answer) -> None:
        """Note size and version of the file, or compare them with those of the answer before."""
        host, tag = answer.spot.url.host, answer.response.headers.get("etag")
        if self.size is not None and total is not None and total != self.size:
            raise Failed(f"it changed while it was read, from {self.size} bytes to {total}", passing=False)
        if self._tag is not None and tag is not None and self._tag[0] == host and self._tag[1] != tag:
            raise Failed("it changed while it was read", passing=False)
        self.size = total if total is not None else self.size
        self._tag = (host, tag) if tag is not None else self._tag
