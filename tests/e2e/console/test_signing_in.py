"""Signing in by OpenID Connect, against a provider that checks what a provider has to check.

The console is served by its own handler; in front of the API stands what the JWT authorizer does: 401 without the
provider's token.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from local.http_server import Handler, Server
from meridian.console.assets import Assets
from meridian.console.service import Console
from tests.services.browser import CONTEXT

STATIC = Path(__file__).resolve().parents[3] / "functions" / "console" / "static"
CLIENT = "console-client"
NOW = "2026-12-01T08:00:00.000Z"
WAITING: dict[str, Any] = {
    **dict.fromkeys(("triggerId", "routeMatch", "restateUrl", "finalStatus", "spec", "specHash", "specVersion")),
    "id": "waits",
    "workflowFile": "w.json",
    "workflowSlug": "w",
    "workflowName": "W",
    "eventType": "t",
    "sourceEventId": "waits",
    "subjects": {},
    "createdAt": NOW,
    "updatedAt": NOW,
    "status": "suspended",
    "event": {},
    "nodeStatus": {},
    "source": "live",
    "snapshot": {
        "status": "suspended",
        "trace": [],
        "waiting": None,
        "error": None,
        "pending": {
            "id": "ask",
            "node": "ask",
            "title": "Ask",
            "message": None,
            "outcomes": ["yes"],
            "requestedAt": NOW,
        },
    },
}
"""A run that waits for a decision, as the API answers it."""


def unsigned(claims: dict[str, Any]) -> str:
    """A token whose signature nobody here checks: the page reads the claims, the authorizer compares the whole."""
    parts = [json.dumps({"alg": "none"}).encode(), json.dumps(claims).encode(), b"signature"]
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)


class Provider:
    """The identity provider: one person, one client, codes that are good once and only for their verifier."""

    def __init__(self) -> None:
        self.server = Server()
        self.refuses = False
        self.token = ""
        self.person = "ada"
        self._challenges: dict[str, dict[str, str]] = {}
        self.server.start(self._handler())

    def _handler(provider) -> type[Handler]:  # noqa: N805 - `self` is the request's
        class Answers(Handler):
            def answer(self) -> None:
                url = urlsplit(self.path)
                query = {name: values[0] for name, values in parse_qs(url.query).items()}
                if url.path == "/.well-known/openid-configuration":
                    own = provider.server.url
                    self._json(200, {"authorization_endpoint": f"{own}/authorize", "token_endpoint": f"{own}/token"})
                elif url.path == "/authorize":
                    self.reply(302, b"", headers=(("Location", provider.authorize(query)),))
                else:
                    form = {name: values[0] for name, values in parse_qs(self.body(10_000).decode()).items()}
                    self._json(*provider.exchange(form))

            def _json(self, status: int, document: dict[str, Any]) -> None:
                headers = (("Content-Type", "application/json"), ("Access-Control-Allow-Origin", "*"))
                self.reply(status, json.dumps(document).encode(), headers=headers)

        return Answers

    def authorize(self, query: dict[str, str]) -> str:
        assert (query["response_type"], query["client_id"]) == ("code", CLIENT)
        assert query["code_challenge_method"] == "S256"
        answer = {"state": query["state"]}
        if self.refuses:
            answer |= {"error": "access_denied", "error_description": "This account may not sign in here."}
        else:
            code = f"code-{len(self._challenges)}"
            self._challenges[code] = query
            answer["code"] = code
        return f"{query['redirect_uri']}?{urlencode(answer)}"

    def exchange(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        asked = self._challenges.pop(form["code"])
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        assert base64.urlsafe_b64encode(digest).decode().rstrip("=") == asked["code_challenge"]
        assert form["redirect_uri"] == asked["redirect_uri"]
        claims = {"sub": self.person, "name": "Dr Ada Müller", "aud": CLIENT, "nonce": asked["nonce"]}
        self.token = unsigned(claims)
        return 200, {"id_token": self.token, "access_token": "opaque", "expires_in": 3600}


class Front:
    """The console, and an API that answers nobody without the provider's token."""

    def __init__(self, provider: Provider) -> None:
        self.server = Server()
        self.asked: list[str] = []
        sign_in = {"issuer": provider.server.url, "clientId": CLIENT, "audience": CLIENT}
        console = Console(Assets(STATIC), sign_in)
        self.server.start(self._handler(console, provider))

    def _handler(front, console: Console, provider: Provider) -> type[Handler]:  # noqa: N805
        class Answers(Handler):
            def answer(self) -> None:
                path = urlsplit(self.path).path
                if path == "/" or path.startswith("/console"):
                    answer = console.answer(path, {name.lower(): value for name, value in self.headers.items()})
                    self.reply(
                        answer["statusCode"],
                        base64.b64decode(answer.get("body", "")),
                        headers=tuple(answer["headers"].items()),
                    )
                    return
                front.asked.append(self.headers.get("Authorization", ""))
                granted = provider.token and self.headers.get("Authorization") == f"Bearer {provider.token}"
                document: dict[str, Any] = {"runs": [], "workflows": [], "types": [], "days": [], "nextCursor": None}
                if path == "/api/runs/waits":
                    document = WAITING
                body = document if granted else {"message": "Unauthorized"}
                headers = (("Content-Type", "application/json"),)
                self.reply(200 if granted else 401, json.dumps(body).encode(), headers=headers)

        return Answers


@pytest.fixture
def provider() -> Iterator[Provider]:
    provider = Provider()
    yield provider
    provider.server.stop()


@pytest.fixture
def visitor(browser: Browser, provider: Provider) -> Iterator[Page]:
    """A page on the protected console."""
    front = Front(provider)
    with browser.new_context(base_url=front.server.url, **CONTEXT) as context:
        page = context.new_page()
        violations: list[str] = []
        page.on("console", lambda message: violations.append(message.text) if "Policy" in message.text else None)
        yield page
        assert violations == []
    front.server.stop()


def test_one_signs_in_and_is_where_one_wanted_to_go(visitor: Page) -> None:
    visitor.goto("/console/runs?status=failed")
    expect(visitor.get_by_role("heading", name="Sign in to Meridian")).to_be_visible()
    visitor.get_by_role("button", name="Sign in").click()

    expect(visitor.get_by_text("Dr Ada Müller")).to_be_visible()
    assert visitor.url.endswith("/console/runs?status=failed")
    expect(visitor.get_by_text("No run has all of these")).to_be_visible()
    visitor.reload()
    expect(visitor.get_by_text("Dr Ada Müller")).to_be_visible()


def test_one_who_is_refused_is_told_why(visitor: Page, provider: Provider) -> None:
    provider.refuses = True
    visitor.goto("/console/runs")
    visitor.get_by_role("button", name="Sign in").click()

    expect(visitor.get_by_text("Signing in did not succeed")).to_be_visible()
    expect(visitor.get_by_text("This account may not sign in here.")).to_be_visible()


def test_an_answer_that_nobody_asked_for_is_not_taken(visitor: Page) -> None:
    visitor.goto("/console/signed-in?code=code-0&state=forged")

    expect(visitor.get_by_text("Signing in did not succeed")).to_be_visible()
    assert visitor.evaluate("sessionStorage.length") == 0


def test_a_session_that_the_api_ends_keeps_the_page_and_asks_to_sign_in_again(
    visitor: Page, provider: Provider
) -> None:
    visitor.goto("/console/runs")
    visitor.get_by_role("button", name="Sign in").click()
    expect(visitor.get_by_text("No runs yet")).to_be_visible()

    provider.token = "of somebody else"

    expect(visitor.get_by_text("Your session has ended.")).to_be_visible()
    expect(visitor.get_by_role("heading", name="Runs")).to_be_visible()
    visitor.get_by_role("banner").or_(visitor.locator(".banner")).get_by_role("button", name="Sign in").click()
    expect(visitor.get_by_text("Your session has ended.")).to_have_count(0)
    expect(visitor.get_by_text("No runs yet")).to_be_visible()


def test_one_signs_out(visitor: Page) -> None:
    visitor.goto("/console/runs")
    visitor.get_by_role("button", name="Sign in").click()
    visitor.get_by_role("button", name="Sign out").click()

    expect(visitor.get_by_role("heading", name="Sign in to Meridian")).to_be_visible()
    assert visitor.evaluate("sessionStorage.length") == 0


@pytest.mark.parametrize(("person", "comment"), [("ada", "Half a sentence"), ("grace", "")])
def test_a_decision_that_was_being_written_when_the_session_ended_is_kept_for_the_same_person(
    visitor: Page, provider: Provider, person: str, comment: str
) -> None:
    visitor.clock.install()
    visitor.goto("/console/runs/waits")
    visitor.get_by_role("button", name="Sign in").click()
    visitor.get_by_text("yes", exact=True).click()
    visitor.get_by_label("Comment").fill("Half a sentence")

    visitor.clock.fast_forward("01:00:00")
    expect(visitor.get_by_text("Your session has ended.")).to_be_visible()
    provider.person = person
    visitor.locator(".banner").get_by_role("button", name="Sign in").click()

    expect(visitor.get_by_label("Comment")).to_have_value(comment)
    expect(visitor.get_by_text("Your session has ended.")).to_have_count(0)
    assert visitor.get_by_role("radio", name="yes").is_checked() == bool(comment)
    assert visitor.evaluate("sessionStorage.getItem('meridian.drafts')") is None


def test_a_provider_that_is_away_is_said_to_be(visitor: Page, provider: Provider) -> None:
    visitor.goto("/console/runs")
    visitor.route("**/.well-known/*", lambda route: route.abort())
    visitor.get_by_role("button", name="Sign in").click()

    expect(visitor.get_by_role("alert")).to_have_text("Signing in did not succeed")
