"""The page of one run: its course, what it waits for, what a signal came to, and how it ended."""

import re
from datetime import UTC, datetime, timedelta

import httpx
from playwright.sync_api import Page, Route, expect

from tests.e2e.console.actions import ALERT, Actions


def decide(page: Page, outcome: str) -> None:
    page.get_by_text(outcome, exact=True).first.click()
    page.get_by_label("Decided by").fill("Dr A")
    page.get_by_role("button", name="Record the decision").click()


def test_the_graph_and_the_timeline_show_the_way_that_was_taken(page: Page, actions: Actions) -> None:
    slug = actions.publish(ALERT, "course")
    run_id = actions.send(slug, value=6.4)
    actions.await_status(run_id, "suspended")
    page.goto(f"/console/runs/{run_id}")

    graph = page.get_by_role("group", name="Course through the workflow")
    expect(graph.get_by_role("button", name="assess Values · Completed")).to_be_visible()
    expect(graph.get_by_role("button", name="Abnormal potassium Validation · Needs a decision")).to_be_visible()
    expect(graph.get_by_role("button", name="Control sample Wait · Not reached")).to_be_visible()
    expect(graph.locator(".edge-taken")).to_have_count(2)  # from the entry, and from assess
    graph.get_by_role("button", name="assess Values · Completed").click()
    expect(page.get_by_role("heading", name="Definition of assess")).to_be_visible()
    page.get_by_text("Output", exact=True).first.click()
    expect(page.get_by_label("Output")).to_contain_text('"value": 6.4')


def test_a_wait_is_resumed_with_data(page: Page, actions: Actions, api: httpx.Client) -> None:
    slug = actions.publish(ALERT, "resumed")
    run_id = actions.send(slug)
    actions.await_status(run_id, "suspended")
    page.goto(f"/console/runs/{run_id}")
    decide(page, "treated")

    expect(page.get_by_role("heading", name="Control sample")).to_be_visible()
    expect(page.get_by_text("The decision was applied")).to_be_visible()
    page.get_by_text("Add data").click()
    page.get_by_label("Data (JSON)").fill('{"value": ')
    expect(page.get_by_text("This is not JSON.")).to_be_visible()
    expect(page.get_by_role("button", name="Resume the run")).to_be_disabled()
    page.get_by_label("Data (JSON)").fill('{"value": 4.10}')
    page.get_by_role("button", name="Resume the run").click()

    expect(page.get_by_text("The run goes on")).to_be_visible()
    expect(page.locator(".page-head .status")).to_have_text("Completed")
    # every digit of what was written has come to the run
    assert '"data":{"value":4.10}' in api.get(f"/api/runs/{run_id}").text


def test_a_decision_that_somebody_else_made_first_is_a_conflict_and_not_an_error(
    page: Page, actions: Actions, api: httpx.Client
) -> None:
    slug = actions.publish(ALERT, "conflict")
    run_id = actions.send(slug)
    actions.await_status(run_id, "suspended")
    page.goto(f"/console/runs/{run_id}")
    expect(page.get_by_role("button", name="Record the decision")).to_be_visible()
    page.get_by_label("Decided by").fill("Dr B")
    page.get_by_text("treated", exact=True).first.click()

    assert api.post(f"/api/decide/{run_id}/ask", json={"outcome": "dismissed", "by": "Dr A"}).is_success
    page.get_by_role("button", name="Record the decision").click()

    expect(page.get_by_text("The decision was not applied")).to_be_visible()
    expect(page.get_by_text("run terminé : aucune validation en attente")).to_be_visible()
    expect(page.locator(".page-head .status")).to_have_text("Completed")


def test_a_decision_that_is_not_known_to_be_applied_is_said_to_be_sent(page: Page, actions: Actions) -> None:
    slug = actions.publish(ALERT, "accepted")
    run_id = actions.send(slug)
    actions.await_status(run_id, "suspended")
    page.route("**/api/decide/**", lambda route: route.fulfill(status=202, json={"applied": False}))
    page.goto(f"/console/runs/{run_id}")
    decide(page, "treated")

    expect(page.get_by_text("The decision was sent")).to_be_visible()
    expect(page.get_by_text("the run does not show it yet")).to_be_visible()


def test_a_killed_run_is_shown_as_ended_from_outside(page: Page, actions: Actions) -> None:
    slug = actions.publish(ALERT, "killed")
    run_id = actions.send(slug)
    actions.await_status(run_id, "suspended")
    page.goto(f"/console/runs/{run_id}")
    expect(page.get_by_role("button", name="Record the decision")).to_be_visible()

    actions.kill(run_id)

    expect(page.locator(".page-head .status")).to_have_text("Failed")
    expect(page.get_by_text("The run was ended from outside")).to_be_visible()
    expect(page.locator(".page-head").get_by_text("From the archive")).to_be_visible()
    expect(page.get_by_role("button", name="Record the decision")).to_have_count(0)


def test_a_run_says_where_it_comes_from_and_leads_to_its_like(page: Page, actions: Actions) -> None:
    slug = actions.publish(ALERT, "provenance")
    run_id = actions.send(slug, patient="p-zq7-provenance")
    page.goto(f"/console/runs/{run_id}")

    facts = page.locator(".facts")
    expect(facts).to_contain_text(actions.stack.restate_ingress)
    expect(facts).to_contain_text("Version 1")
    expect(facts).to_contain_text("takes every event of the type")
    expect(facts.get_by_role("link", name=slug, exact=True)).to_have_attribute(
        "href", re.compile(rf"/console/workflows/{slug}\?version=1")
    )
    facts.get_by_role("link", name=actions.event_type(slug)).click()
    expect(page).to_have_url(re.compile(r"/console/runs\?event=event"))
    page.go_back()
    facts.get_by_role("link", name="patient p-zq7-provenance").click()
    expect(page).to_have_url(re.compile(r"/console/runs\?subject=patient%3Ap-zq7-provenance"))
    expect(page.locator("tbody tr")).to_have_count(1)


def test_a_run_that_does_not_exist_is_said_not_to_be_there(page: Page) -> None:
    page.goto("/console/runs/nothing:here")

    expect(page.get_by_text("There is nothing at this address")).to_be_visible()


def test_of_a_thousand_visits_the_last_are_shown_and_the_others_asked_for(page: Page, actions: Actions) -> None:
    run_id = actions.send(actions.publish(ALERT, "visits"))
    actions.await_status(run_id, "suspended")

    def lengthened(route: Route) -> None:
        detail = route.fetch().json()
        detail["snapshot"]["trace"] *= 999
        route.fulfill(json=detail)

    page.route("**/api/runs/*", lengthened)
    page.goto(f"/console/runs/{run_id}")
    expect(page.locator(".visit")).to_have_count(100)
    expect(page.locator(".visit").first).to_contain_text("visit 901")
    page.get_by_role("button", name="Show the 900 earlier visits").click()
    expect(page.locator(".visit")).to_have_count(1000)


def test_times_are_told_by_the_clock_of_the_service(page: Page, actions: Actions) -> None:
    slug = actions.publish(ALERT, "clock")
    actions.send(slug)
    page.clock.set_system_time(datetime.now(UTC) + timedelta(hours=5))
    page.goto(f"/console/runs?workflow={slug}")
    expect(page.locator("tbody time").first).to_have_text(re.compile("now|sec|min"))


def test_what_cannot_be_seen_of_a_subject_is_shown(page: Page, actions: Actions) -> None:
    run_id = actions.send(actions.publish(ALERT, "unseen"), patient="p-zq7-\u202e24")
    page.goto(f"/console/runs/{run_id}")
    expect(page.locator(".subject-id").first).to_have_text("p-zq7-\\u202e24")
    expect(page.get_by_label("Event", exact=True).first).to_contain_text('"p-zq7-\\u202e24"')
