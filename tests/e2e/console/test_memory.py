"""Memory: what is remembered of a subject, and that it is forgotten only when that is confirmed."""

import re

import httpx
from playwright.sync_api import Page, expect

from tests.e2e.console.actions import ALLERGIES, Actions


def remembered(api: httpx.Client, patient: str) -> list[str]:
    answer = api.get("/api/memory", params={"subjectKind": "patient", "subjectId": patient})
    return [item["key"] for item in answer.json()["items"]]


def written(actions: Actions, patient: str) -> str:
    slug = actions.publish(ALLERGIES, patient.removeprefix("p-zq7-"))  # slugs are logged
    run_id = actions.send(slug, patient=patient, drug="amoxicillin", dose=6.5)
    actions.await_status(run_id, "completed")
    return run_id


def test_the_items_of_a_subject_are_listed_with_their_writer(page: Page, actions: Actions) -> None:
    run_id = written(actions, "p-zq7-listed")
    page.goto("/console/memory")
    page.get_by_label("Subject kind").fill("patient")
    page.get_by_label("Subject id").fill("p-zq7-listed")
    page.get_by_role("button", name="Show").click()

    row = page.locator("tbody tr").filter(has_text="last-dose-zq7")
    expect(row).to_contain_text("6.5")
    expect(row).to_contain_text(re.compile(r"in \d+ hr"))
    expect(row).to_contain_text("Dose")
    row.get_by_role("link").click()
    expect(page.locator(".page-above")).to_contain_text(run_id)


def test_one_item_is_forgotten_after_a_confirmation(page: Page, actions: Actions, api: httpx.Client) -> None:
    written(actions, "p-zq7-one")
    page.goto("/console/memory?subjectKind=patient&subjectId=p-zq7-one")
    page.get_by_role("button", name="Forget allergies-zq7").click()
    page.get_by_role("button", name="Cancel").click()
    assert remembered(api, "p-zq7-one") == ["allergies-zq7", "last-dose-zq7"]

    page.get_by_role("button", name="Forget allergies-zq7").click()
    page.get_by_role("dialog").get_by_role("button", name="Forget", exact=True).click()

    expect(page.get_by_text("1 item was forgotten")).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(1)
    assert remembered(api, "p-zq7-one") == ["last-dose-zq7"]


def test_everything_of_a_subject_is_forgotten_and_nothing_of_another(
    page: Page, actions: Actions, api: httpx.Client
) -> None:
    written(actions, "p-zq7-all")
    written(actions, "p-zq7-all2")
    page.goto("/console/memory?subjectKind=patient&subjectId=p-zq7-all")
    page.get_by_role("button", name="Forget everything").click()
    expect(page.get_by_role("dialog")).to_contain_text("patient p-zq7-all")
    page.get_by_role("dialog").get_by_role("button", name="Forget", exact=True).click()

    expect(page.get_by_text("2 items were forgotten")).to_be_visible()
    expect(page.get_by_text("Nothing is remembered")).to_be_visible()
    assert remembered(api, "p-zq7-all") == []
    assert len(remembered(api, "p-zq7-all2")) == 2
