"""Everybody can use every page: by keyboard, read aloud, in both languages, light and dark, on a phone."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.console.actions import ALERT, ALLERGIES, Actions
from tests.services.browser import CONTEXT
from tests.services.stack import RunningStack

AXE = Path(__file__).resolve().parents[3] / "node_modules" / "axe-core" / "axe.min.js"

COLOUR_RULES = ["color-contrast", "link-in-text-block"]
"""Those of axe's rules that look at colours, but for the one of level AAA."""


COVERED = """() => {
  const focused = document.activeElement;
  const {left, top, width, height} = focused.getBoundingClientRect();
  const seen = document.elementFromPoint(left + Math.min(width / 2, 8), top + Math.min(height / 2, 8));
  return seen?.closest(".topbar") || top < 0 ? [focused.outerHTML.slice(0, 120)] : [];
}"""
"""What has the focus, when the bar or the window's edge hides it."""


@pytest.fixture(scope="module")
def places(actions: Actions) -> dict[str, str]:
    """The address of each page, with something on it."""
    slug = actions.publish(ALERT, "seen")
    actions.publish(ALERT, "seen", name="Potassium alarm")
    pending, ended = actions.send(slug, patient="p-zq7-seen"), actions.send(slug, patient="p-zq7-seen")
    actions.await_status(pending, "suspended")
    actions.await_status(ended, "suspended")
    actions.api.post(f"/api/decide/{ended}/ask", json={"outcome": "dismissed"})
    allergies = actions.publish(ALLERGIES, "seen-allergies")
    actions.await_status(actions.send(allergies, patient="p-zq7-seen", dose=1), "completed")
    long = "overlong" * 24
    longest = actions.publish(ALERT, "seen-long", name=f"{long[:90]} {long[:90]}")
    long_run = actions.send(longest, patient=f"p-zq7-{long}")
    actions.await_status(long_run, "suspended")
    actions.api.post("/api/events", json={"type": "nobody", "source": long})
    return {
        "runs": "/console/runs",
        "no runs": "/console/runs?workflow=none&status=failed",
        "a run that waits": f"/console/runs/{pending}",
        "a run that ended": f"/console/runs/{ended}",
        "a run of long names": f"/console/runs/{long_run}",
        "events": "/console/events",
        "memory": "/console/memory?subjectKind=patient&subjectId=p-zq7-seen",
        "no memory": "/console/memory",
        "workflows": "/console/workflows",
        "a workflow": f"/console/workflows/{slug}",
        "a difference": f"/console/workflows/{slug}?version=2&against=1",
        "nowhere": "/console/nowhere",
    }


def violations(page: Page) -> list[str]:
    """What axe-core finds, light and dark, as a line per rule and element."""
    page.evaluate(AXE.read_text())
    found = _axe(page, {"resultTypes": ["violations"]})
    page.emulate_media(color_scheme="dark")  # which changes nothing but colours
    found += _axe(page, {"resultTypes": ["violations"], "runOnly": COLOUR_RULES})
    page.emulate_media(color_scheme="light")
    return found


def _axe(page: Page, options: dict[str, Any]) -> list[str]:
    found: dict[str, Any] = page.evaluate("options => axe.run(document, options)", options)
    return [f"{rule['id']}: {node['html']}" for rule in found["violations"] for node in rule["nodes"]]


@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_on_any_page(
    browser: Browser, stack: RunningStack, places: dict[str, str], width: int
) -> None:
    options: dict[str, Any] = {**CONTEXT, "viewport": {"width": width, "height": 800}}
    with browser.new_context(base_url=stack.api, **options) as context:
        page = context.new_page()
        found: dict[str, list[str]] = {}
        for name, place in places.items():
            page.goto(place)
            page.wait_for_load_state("networkidle")
            expect(page.locator(".loading")).to_have_count(0)
            found[name] = violations(page)
        page.goto("/console/events")
        page.get_by_role("button", name="Send an event").click()
        expect(page.get_by_label("Begin with a sample")).to_be_visible()
        found["sending an event"] = violations(page)

    assert {name: problems for name, problems in found.items() if problems} == {}


def test_a_decision_is_made_with_the_keyboard_alone(page: Page, actions: Actions) -> None:
    slug = actions.publish(ALERT, "keyboard")
    actions.await_status(actions.send(slug), "suspended")
    page.goto(f"/console/runs?workflow={slug}")
    expect(page.locator("tbody tr")).to_have_count(1)

    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
    tab_to(page, page.get_by_role("link", name="Potassium alert"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    tab_to(page, page.get_by_role("radio", name="treated"))
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("radio", name="dismissed")).to_be_checked()
    page.keyboard.press("Tab")
    page.keyboard.type("Dr A")
    page.keyboard.press("Enter")

    expect(page.get_by_text("The decision was applied")).to_be_visible()


def tab_to(page: Page, target: Any) -> None:
    for _ in range(60):
        page.keyboard.press("Tab")
        if target.evaluate("element => element === document.activeElement"):
            return
    raise AssertionError("the tab key does not lead there")


@pytest.mark.parametrize(("width", "height"), [(1280, 500), (640, 500), (320, 256)])
def test_the_bar_at_the_top_covers_nothing_that_has_the_focus(
    browser: Browser, stack: RunningStack, places: dict[str, str], width: int, height: int
) -> None:
    options: dict[str, Any] = {**CONTEXT, "viewport": {"width": width, "height": height}}
    with browser.new_context(base_url=stack.api, **options) as context:
        page = context.new_page()
        page.goto(places["a run that waits"])
        button = page.get_by_role("button", name="Record the decision")
        page.get_by_role("heading", name="Timeline").wait_for()
        page.locator("summary").last.focus()
        covered: list[str] = []
        for steps in range(100):
            if button.evaluate("element => element === document.activeElement"):
                assert steps > 2
                break
            page.keyboard.press("Shift+Tab")
            covered += page.evaluate(COVERED)
        else:
            raise AssertionError("the tab key does not lead back to the decision")
        assert covered == []


def test_a_dialog_gives_the_focus_back(page: Page) -> None:
    page.goto("/console/events")
    opener = page.get_by_role("button", name="Send an event")
    opener.click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(opener).to_be_focused()


def test_a_reader_of_french_is_shown_french(browser: Browser, stack: RunningStack) -> None:
    with browser.new_context(base_url=stack.api, **{**CONTEXT, "locale": "fr-CH"}) as context:
        page = context.new_page()
        page.goto("/console/workflows")
        expect(page.get_by_role("button", name="Publier un workflow")).to_be_visible()
        assert page.evaluate("document.documentElement.lang") == "fr"


def test_no_page_is_wider_than_a_phone(browser: Browser, stack: RunningStack, places: dict[str, str]) -> None:
    options: dict[str, Any] = {**CONTEXT, "viewport": {"width": 320, "height": 740}}
    with browser.new_context(base_url=stack.api, **options) as context:
        page = context.new_page()
        for place in places.values():
            page.goto(place)
            page.wait_for_load_state("networkidle")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), place
