"""Recent events: what each started, and why it started nothing."""

import re

import httpx
from playwright.sync_api import Page, Route, expect

from tests.e2e.console.actions import ALERT, Actions


def test_an_event_that_nobody_receives_says_why_it_started_nothing(
    page: Page, actions: Actions, api: httpx.Client
) -> None:
    kind = f"nobody-{actions.tag}"
    assert api.post("/api/events", json={"type": kind}).status_code == 200
    page.goto("/console/events")

    row = page.locator("tbody tr").filter(has_text=kind).first
    expect(row).to_contain_text("Started nothing")
    expect(row).to_contain_text(f"No active workflow takes this {kind}.")
    row.get_by_role("button", name=kind).click()
    expect(page.get_by_role("dialog")).to_contain_text("the selector of each such entry did not hold")


def test_an_event_that_is_sent_again_is_a_duplicate_and_leads_to_its_run(
    page: Page, actions: Actions, api: httpx.Client
) -> None:
    slug = actions.publish(ALERT, "again")
    run_id = actions.send(slug)
    event_id = run_id.partition(":")[0]
    again = {"eventId": event_id, "type": actions.event_type(slug)}
    assert api.post("/api/events", json=again).status_code == 200
    page.goto("/console/events")

    row = page.locator("tbody tr").filter(has_text="Duplicate").filter(has_text=event_id)
    expect(row).to_contain_text("It had been received before: its runs are there.")
    row.get_by_role("link", name="Potassium alert").click()
    expect(page.locator(".page-above")).to_contain_text(run_id)


def test_an_event_older_than_a_workflow_says_so(page: Page, actions: Actions, api: httpx.Client) -> None:
    slug = actions.publish(ALERT, "older")
    run_id = actions.send(slug)
    event_id, kind = run_id.partition(":")[0], actions.event_type(slug)
    api.put(f"/api/workflows/{slug}/active", json={"version": None})
    later = actions.publish(ALERT, "later", entries=[{"id": "only", "event": kind}], name="Published later")
    assert api.post("/api/events", json={"eventId": event_id, "type": kind}).status_code == 200
    page.goto("/console/events")

    row = page.locator("tbody tr").filter(has_text="Too old")
    row.get_by_role("button", name=kind).click()
    expect(page.get_by_role("dialog")).to_contain_text("Published later")
    expect(page.get_by_role("dialog")).to_contain_text("published after the event was first received")
    assert later


def test_a_refused_event_shows_each_problem_at_its_line(page: Page) -> None:
    page.goto("/console/events")
    page.get_by_role("button", name="Send an event").click()
    page.get_by_label("Event (JSON)").fill('{\n  "type": "",\n  "subjects": {\n    "patient": 4\n  }\n}')
    page.get_by_role("button", name="Send", exact=True).click()

    expect(page.get_by_text("The event was not taken")).to_be_visible()
    wrong = page.locator(".source-wrong")
    expect(wrong).to_have_count(2)
    expect(wrong.first).to_contain_text('"type": ""')
    expect(wrong.last).to_contain_text('"patient": 4')
    expect(page.locator(".remark").last).to_contain_text("/subjects/patient")


def test_the_form_begins_with_the_samples(page: Page) -> None:
    page.goto("/console/events")
    page.get_by_role("button", name="Send an event").click()

    page.get_by_label("Begin with a sample").select_option("potassium")
    expect(page.get_by_label("Event (JSON)")).to_have_value(
        '{\n  "type": "observation.created",\n  "source": "lab",\n'
        '  "time": "2026-11-30T20:09:00Z",\n  "subjects": {\n    "patient": "p-42"\n  },\n  "data": {\n'
        '    "code": "K",\n    "value": 6.4,\n    "unit": "mmol/L"\n  }\n}'
    )


def test_nothing_is_typed_before_the_sample_has_come(page: Page) -> None:
    text = page.get_by_label("Event (JSON)")
    was_editable: list[bool] = []

    def look_then_go_on(route: Route) -> None:
        was_editable.append(text.is_editable())
        route.continue_()

    page.route("**/samples.json", look_then_go_on)
    page.goto("/console/events")
    page.get_by_role("button", name="Send an event").click()

    expect(text).to_have_value(re.compile("admission.created"))
    expect(text).to_be_editable()
    assert was_editable == [False]
