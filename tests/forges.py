"""A forge's comments of one request, over HTTP as its API says, for the scripts that post a plan.

- GitHub: docs.github.com/en/rest/issues/comments, pages of at most 100.
- Forgejo and Gitea: routers/api/v1/repo/issue_comment.go, where `ListIssueComments` knows no pages. `forgejo-paged` is
  one that has them, as lists elsewhere in that API do (at most 50).
- GitLab: docs.gitlab.com/api/notes, pages of at most 100, the newest first.
"""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "a-token"  # noqa: S105 - of nobody
NUMBER = "7"
ME = 41


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What differs between forges."""

    workflow: str
    """The file of the example that is for it."""
    where: str
    """The comments of the request, below the server's address."""
    one: str
    """A comment, without its id."""
    edit: str
    """The method that changes one."""
    header: tuple[str, str]
    own: dict[str, Any]
    """Who the token is, as comments name it."""
    other: dict[str, Any]
    size: str
    """The parameter that says how many are on a page."""
    most: int | None
    """How many are at most; None where there are no pages."""


_GITHUB = Kind(
    workflow=".github/workflows/fleet.yml",
    where=f"/api/v3/repos/ada/fleet/issues/{NUMBER}/comments",
    one="/api/v3/repos/ada/fleet/issues/comments/",
    edit="PATCH",
    header=("Authorization", f"Bearer {TOKEN}"),
    own={"user": {"login": "github-actions[bot]"}},
    other={"user": {"login": "mallory"}},
    size="per_page",
    most=100,
)
_FORGEJO = Kind(
    workflow=".forgejo/workflows/fleet.yml",
    where=f"/api/v1/repos/ada/fleet/issues/{NUMBER}/comments",
    one="/api/v1/repos/ada/fleet/issues/comments/",
    edit="PATCH",
    header=("Authorization", f"token {TOKEN}"),
    own={"user": {"id": -2, "login": "forgejo-actions"}},
    other={"user": {"id": 5, "login": "mallory"}},
    size="limit",
    most=None,
)
_NOTES = f"/api/v4/projects/3/merge_requests/{NUMBER}/notes"
_GITLAB = Kind(
    workflow=".gitlab-ci.yml",
    where=_NOTES,
    one=f"{_NOTES}/",
    edit="PUT",
    header=("PRIVATE-TOKEN", TOKEN),
    own={"author": {"id": ME}},
    other={"author": {"id": 5}},
    size="per_page",
    most=100,
)


KINDS = {
    "github": _GITHUB,
    "forgejo": _FORGEJO,
    "forgejo-paged": replace(_FORGEJO, most=50),
    "gitea": replace(_FORGEJO, own={"user": {"id": -2, "login": "gitea-actions"}}),
    "gitlab": _GITLAB,
}


@dataclass(slots=True)
class Forge:
    """A forge that runs, and its comments from the oldest on."""

    kind: Kind
    port: int = 0
    comments: list[dict[str, Any]] = field(default_factory=list)
    faults: dict[str, list[int]] = field(default_factory=dict)
    """By method, statuses with which the next requests are answered, and nothing done."""
    asked: list[str] = field(default_factory=list)
    """Method and path of each request."""

    def say(self, body: str, *, own: bool) -> dict[str, Any]:
        """Add a comment."""
        comment = {"id": 1000 + len(self.comments), "body": body, **(self.kind.own if own else self.kind.other)}
        self.comments.append(comment)
        return comment

    def answer(self, method: str, path: str, header: str | None, body: bytes) -> tuple[int, Any]:
        split = urlsplit(path)
        self.asked.append(f"{method} {split.path}")
        if self.faults.get(method):
            return self.faults[method].pop(0), {"message": "no such luck"}
        if header != self.kind.header[1]:
            return 401, {"message": "who are you?"}
        if (method, split.path) == ("GET", "/api/v4/user"):
            return 200, {"id": ME}
        if (method, split.path) == ("GET", self.kind.where):
            return 200, self._page(parse_qs(split.query))
        if (method, split.path) == ("POST", self.kind.where):
            return 201, self.say(json.loads(body)["body"], own=True)
        found = re.fullmatch(re.escape(self.kind.one) + r"(\d+)", split.path)
        for comment in self.comments:
            if found and method == self.kind.edit and comment["id"] == int(found[1]):
                comment["body"] = json.loads(body)["body"]
                return 200, comment
        return 404, {"message": "not found"}

    def _page(self, query: dict[str, list[str]]) -> list[dict[str, Any]]:
        listed = self.comments[::-1] if self.kind is _GITLAB else self.comments
        if self.kind.most is None:
            return listed
        size = min(int(query.get(self.kind.size, ["30"])[0]), self.kind.most)
        first = (int(query.get("page", ["1"])[0]) - 1) * size
        return listed[first : first + size]


@contextmanager
def started(name: str) -> Iterator[Forge]:
    """A forge of this kind on a port of this machine; needs the marks of `file_server`."""
    forge = Forge(KINDS[name])

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"] or 0))
            status, said = forge.answer(self.command, self.path, self.headers[forge.kind.header[0]], body)
            data = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_PATCH = do_PUT = do_GET  # noqa: N815 - the names that the base class looks for

        def log_message(self, *_: Any) -> None:
            """Standard error is the test's."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        forge.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield forge
        finally:
            server.shutdown()
            thread.join()
