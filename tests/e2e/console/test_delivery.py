"""How the page comes to the browser: small, kept for ever, under a strict policy, from no other host."""

import httpx
from playwright.sync_api import Browser, Page, expect

from tests.e2e.console.actions import ALERT, Actions
from tests.services.browser import CONTEXT
from tests.services.stack import RunningStack

FIRST_VIEW_BYTES = 200_000


def test_the_first_view_is_small_and_asks_no_other_host(
    browser: Browser, stack: RunningStack, actions: Actions
) -> None:
    """With a full page of runs; they are of a workflow of their own, since other tests fill the list of all."""
    slug = actions.publish(ALERT, "first-view")
    actions.insert_ended_runs(slug, 100)
    with browser.new_context(base_url=stack.api, **CONTEXT) as context:
        page = context.new_page()
        session = context.new_cdp_session(page)
        session.send("Network.enable")
        received: list[float] = []
        asked: list[str] = []
        session.on("Network.loadingFinished", lambda event: received.append(event["encodedDataLength"]))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"/console/runs?workflow={slug}")
        page.wait_for_load_state("networkidle")
        expect(page.locator("tbody tr").first).to_be_visible()

    assert 10_000 < sum(received) < FIRST_VIEW_BYTES
    assert [url for url in asked if not url.startswith(stack.api)] == []


def test_the_policy_allows_nothing_inline(api: httpx.Client) -> None:
    headers = api.get("/console/runs").headers
    policy = headers["content-security-policy"]

    assert "unsafe-inline" not in policy
    assert "unsafe-eval" not in policy
    assert "default-src 'none'" in policy
    assert "connect-src 'self';" in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_files_are_kept_for_ever_and_the_page_is_asked_for_each_time(api: httpx.Client, page: Page) -> None:
    kept: dict[str, str] = {}
    page.on("response", lambda answer: kept.update({answer.url: answer.headers.get("cache-control", "")}))
    page.goto("/console/runs")
    page.wait_for_load_state("networkidle")

    files = {url: value for url, value in kept.items() if "/console/assets/" in url}
    assert len(files) > 10
    assert set(files.values()) == {"public, max-age=31536000, immutable"}
    first = api.get("/console/runs")
    assert first.headers["cache-control"] == "no-cache"
    again = api.get("/console/runs", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_the_root_leads_to_the_runs(api: httpx.Client) -> None:
    answer = api.get("/")
    assert (answer.status_code, answer.headers["location"]) == (302, "/console/runs")
