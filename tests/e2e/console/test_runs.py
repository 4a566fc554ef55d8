"""The list of runs: it is found, filtered and scrolled, and stays where it is while it is read."""

import re
from typing import Any

import httpx
from playwright.sync_api import CDPSession, Page, expect

from local.waiting import wait_until
from tests.e2e.console.actions import ALERT, Actions

MARKUP = "<img src=x-zq7 onerror=alert(1)>"


def rows(page: Page) -> Any:
    return page.locator("tbody tr:not(.spacer)")


def test_an_event_is_sent_its_run_appears_is_decided_and_completes(page: Page, actions: Actions) -> None:
    slug = actions.publish(ALERT, "journey")

    page.goto("/console/events")
    page.get_by_role("button", name="Send an event").click()
    page.get_by_label("Event (JSON)").fill(
        f'{{"type": "{actions.event_type(slug)}", "subjects": {{"patient": "p-zq7-7"}}, "data": {{"value": 6.10}}}}'
    )
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_text("Started 1 run.").first).to_be_visible()
    page.get_by_role("button", name="Close").click()

    page.get_by_role("link", name="Runs", exact=True).click()
    page.get_by_label("Workflow").select_option(slug)
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text("Needs a decision")
    page.get_by_role("link", name="Potassium alert").click()

    expect(page.get_by_role("heading", name="Abnormal potassium")).to_be_visible()
    expect(page.get_by_text("Potassium 6.10")).to_be_visible()
    page.get_by_text("dismissed", exact=True).first.click()
    page.get_by_label("Decided by").fill("Dr A")
    page.get_by_role("button", name="Record the decision").click()

    expect(page.get_by_text("The decision was applied")).to_be_visible()
    expect(page.locator(".page-head .status")).to_have_text("Completed")
    expect(page.get_by_role("button", name="Record the decision")).to_have_count(0)
    expect(page.get_by_role("listitem").filter(has_text="Abnormal potassium")).to_be_visible()


def test_a_new_run_is_offered_and_does_not_move_what_is_read(page: Page, actions: Actions) -> None:
    slug = actions.publish(ALERT, "fresh")
    first = actions.send(slug, patient="p-zq7-first")
    page.goto(f"/console/runs?workflow={slug}")
    row = rows(page).filter(has_text="p-zq7-first")
    expect(row).to_be_visible()
    place = row.bounding_box()

    actions.send(slug, patient="p-zq7-second")

    offer = page.get_by_role("button", name="Show 1 new run")
    expect(offer).to_be_visible()
    assert row.bounding_box() == place
    offer.click()
    expect(rows(page)).to_have_count(2)
    expect(rows(page).first).to_contain_text("p-zq7-second")
    assert first


def test_a_status_changes_in_its_row_while_one_looks(page: Page, actions: Actions, api: httpx.Client) -> None:
    slug = actions.publish(ALERT, "changes")
    run_id = actions.send(slug)
    page.goto(f"/console/runs?workflow={slug}")
    expect(rows(page)).to_contain_text("Needs a decision")

    assert api.post(f"/api/decide/{run_id}/ask", json={"outcome": "dismissed"}).is_success

    expect(rows(page)).to_contain_text("Completed")


def test_a_run_that_leaves_the_filter_stays_and_says_so(page: Page, actions: Actions, api: httpx.Client) -> None:
    slug = actions.publish(ALERT, "leaves")
    ended, going_on = actions.send(slug, patient="p-zq7-ended"), actions.send(slug, patient="p-zq7-goes-on")
    actions.send(slug, patient="p-zq7-newest")
    page.goto(f"/console/runs?workflow={slug}&status=live")
    expect(rows(page)).to_have_count(3)

    assert api.post(f"/api/decide/{going_on}/ask", json={"outcome": "dismissed"}).is_success

    expect(rows(page).filter(has_text="p-zq7-goes-on")).to_contain_text("Ended")
    expect(rows(page)).to_have_count(3)
    assert ended


def test_the_entries_of_a_workflow_are_a_filter_and_a_time_is_exact_on_hover(page: Page, actions: Actions) -> None:
    event = actions.event_type(f"entries-{actions.tag}")
    entries = [{"id": "high", "event": event, "selector": "event.data.value > `6`"}, {"id": "other", "event": event}]
    slug = actions.publish(ALERT, "entries", entries=entries)
    actions.send(slug, patient="p-zq7-high", value=6.4)
    actions.send(slug, patient="p-zq7-low", value=2.4)
    page.goto(f"/console/runs?workflow={slug}")
    expect(rows(page)).to_have_count(2)

    page.get_by_label("Entry").select_option("other")
    expect(page).to_have_url(re.compile(r"trigger=other"))
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text("p-zq7-low")
    moment = rows(page).locator("time").first
    at = moment.get_attribute("datetime") or ""
    assert re.fullmatch(r".*\d{1,2}:\d{2}:\d{2}.* \(" + re.escape(at) + r"\)", moment.get_attribute("title") or "")

    page.get_by_label("Workflow").select_option("")
    expect(page).not_to_have_url(re.compile("trigger="))


def test_filters_stand_in_the_address_and_the_back_button_restores_the_list(page: Page, actions: Actions) -> None:
    slug = actions.publish(ALERT, "filters")
    actions.insert_ended_runs(slug, 400)
    page.goto(f"/console/runs?workflow={slug}")
    page.get_by_text("Failed", exact=True).first.click()
    expect(page).to_have_url(re.compile(r"status=failed"))
    expect(rows(page).first).to_contain_text("Failed")
    page.get_by_label("Subject").fill("patient:p-zq7-7")
    page.get_by_label("Subject").press("Enter")
    expect(page).to_have_url(re.compile(r"subject=patient%3Ap-zq7-7(&|$)"))
    expect(rows(page)).to_have_count(1)

    page.reload()
    expect(rows(page)).to_have_count(1)
    page.get_by_role("button", name="Clear 3 filters").click()
    expect(page).to_have_url(re.compile(r"/console/runs$"))

    page.goto(f"/console/runs?workflow={slug}")
    expect(rows(page).first).to_be_visible()
    sought = rows(page).filter(has_text="p-zq7-130")
    assert wait_until(lambda: _is_in_sight_after_a_scroll(page, sought), 60)
    sought.scroll_into_view_if_needed()
    place = sought.bounding_box()
    sought.get_by_role("link", name="Bulk").click()
    expect(page.get_by_role("heading", name="Bulk")).to_be_visible()
    page.go_back()
    expect(sought).to_be_visible()
    assert wait_until(lambda: sought.bounding_box() == place, 5), (sought.bounding_box(), place)


def _is_in_sight_after_a_scroll(page: Page, sought: Any) -> bool:
    if sought.count() == 0:
        page.mouse.wheel(0, 900)
        page.wait_for_timeout(100)
    return bool(sought.count())


def test_a_day_of_a_chart_filters_the_runs(page: Page, actions: Actions) -> None:
    slug = actions.publish(ALERT, "volume")
    actions.send(slug)
    actions.send(slug)
    page.goto("/console/runs")
    chart = page.locator(".chart").filter(has_text=actions.event_type(slug))
    expect(chart.locator(".chart-total")).to_have_text("2")

    chart.get_by_role("button", name="2 events").click()

    expect(page).to_have_url(re.compile(r"eventType=.*&from=\d{4}-\d\d-\d\d&to=\d{4}-\d\d-\d\d"))
    expect(rows(page)).to_have_count(2)
    chart.get_by_role("button", name="2 events").click()
    expect(page).not_to_have_url(re.compile("from="))


def test_ten_thousand_runs_scroll_without_the_page_slowing_down(page: Page, actions: Actions) -> None:
    slug = actions.publish(ALERT, "many")
    actions.insert_ended_runs(slug, 10_000)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(f"/console/runs?workflow={slug}")
    expect(rows(page).first).to_be_visible()
    _scrolling(page, session)  # the first time, everything is compiled
    few = _scrolling(page, session)

    assert wait_until(lambda: _scrolled_to_the_end(page), 90), page.locator(".list-end").inner_text()

    expect(page.get_by_text("10,000 rows. That is all.")).to_be_visible()
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    expect(rows(page).filter(has_text="p-zq7-10000")).to_be_visible()
    assert rows(page).count() < 100
    assert page.evaluate("document.querySelectorAll('*').length") < 3000
    assert _scrolling(page, session) < 2 * few


def _scrolled_to_the_end(page: Page) -> bool:
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.wait_for_timeout(50)
    return "That is all" in page.locator(".list-end").inner_text()


def _scrolling(page: Page, session: CDPSession) -> float:
    """Scrolls through the whole list and back; the processor's seconds that this took the page, whoever else works."""

    def spent() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return float(next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration"))

    before = spent()
    page.evaluate(
        """async () => {
            for (const to of [0, 0.25, 0.5, 0.75, 1, 0.6, 0.3, 0]) {
              for (let step = 0; step < 10; step++) {
                scrollTo(0, document.body.scrollHeight * to + step * 120);
                await new Promise(requestAnimationFrame);
              }
            }
        }"""
    )
    return spent() - before


def test_a_subject_that_looks_like_markup_is_text_everywhere(page: Page, actions: Actions, api: httpx.Client) -> None:
    slug = actions.publish(ALERT, "markup", name=f"{MARKUP} alert")
    run_id = actions.send(slug, patient=MARKUP, value=f"{MARKUP}")
    page.on("dialog", lambda dialog: (_ for _ in ()).throw(AssertionError(dialog.message)))
    places = [
        f"/console/runs?workflow={slug}",
        f"/console/runs?subject=patient:{MARKUP}",
        f"/console/runs/{run_id}",
        "/console/events",
        f"/console/memory?subjectKind=patient&subjectId={MARKUP}",
        f"/console/workflows/{slug}",
    ]

    for place in places:
        page.goto(place)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        page.wait_for_load_state("networkidle")
        assert page.locator("img").count() == 0, place
        page.wait_for_timeout(200)

    page.goto(f"/console/runs?workflow={slug}")
    expect(rows(page)).to_contain_text(MARKUP)
    page.goto(f"/console/runs/{run_id}")
    expect(page.get_by_role("heading", name=f"{MARKUP} alert")).to_be_visible()
    expect(page.locator(".subject-id").first).to_have_text(MARKUP)
