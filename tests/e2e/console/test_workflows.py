"""Workflows: published from a file, compared, activated."""

import json
import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.e2e.console.actions import ALERT, Actions


def test_a_definition_is_published_from_a_file(page: Page, actions: Actions, tmp_path: Path) -> None:
    file = tmp_path / f"From file {actions.tag}.json"
    file.write_text(json.dumps({**ALERT, "entries": [{"id": "only", "event": "from.file"}]}, indent=2))
    page.goto("/console/workflows")
    page.get_by_role("button", name="Publish a workflow").click()
    page.get_by_label("Definition (a JSON file)").set_input_files(file)
    expect(page.get_by_label("Slug")).to_have_value(f"from-file-{actions.tag}")
    page.get_by_role("button", name="Publish", exact=True).click()

    expect(page.get_by_text("Published as version 1")).to_be_visible()
    page.get_by_role("link", name="See the version").click()
    expect(page.get_by_role("heading", name="Potassium alert")).to_be_visible()
    expect(page.get_by_role("button", name="Abnormal potassium Validation")).to_be_visible()


def test_problems_of_a_definition_are_shown_where_they_stand(page: Page, actions: Actions, tmp_path: Path) -> None:
    file = tmp_path / f"broken-{actions.tag}.json"
    nodes = [{"id": "check", "type": "set", "values": {"a": "event.["}, "next": "nowhere"}]
    definition = {"name": "Broken", "entries": [{"id": "e", "event": "t"}], "start": "check", "nodes": nodes}
    file.write_text(json.dumps(definition, indent=2))
    page.goto("/console/workflows")
    page.get_by_role("button", name="Publish a workflow").click()
    page.get_by_label("Definition (a JSON file)").set_input_files(file)
    page.get_by_role("button", name="Publish", exact=True).click()

    expect(page.get_by_text("It could not be published")).to_be_visible()
    expect(page.locator(".source-wrong", has_text='"next": "nowhere"')).to_be_visible()
    expect(page.locator(".source-wrong", has_text='"a": "event.["')).to_be_visible()
    expect(page.locator(".remark", has_text="/nodes/0/next")).to_contain_text("names no node")


def test_two_versions_are_compared_and_another_one_is_activated(page: Page, actions: Actions) -> None:
    slug = actions.publish(ALERT, "versions")
    actions.publish(ALERT, "versions", name="Potassium alarm")
    page.goto(f"/console/workflows/{slug}")
    expect(page.get_by_role("row", name=re.compile("^Version 2"))).to_contain_text("Receives events")

    page.get_by_role("button", name="With version 2").click()
    expect(page.get_by_role("heading", name="From version 1 to version 2")).to_be_visible()
    expect(page.locator(".difference-removed")).to_contain_text('"name": "Potassium alert"')
    expect(page.locator(".difference-added")).to_contain_text('"name": "Potassium alarm"')

    page.get_by_role("row", name=re.compile("^Version 1")).get_by_role("button", name="Activate").click()
    page.get_by_role("dialog").get_by_role("button", name="Activate").click()
    expect(page.get_by_role("row", name=re.compile("^Version 1"))).to_contain_text("Receives events")

    page.get_by_role("button", name="Stop receiving events").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop receiving events").click()
    expect(page.get_by_text("No version receives events")).to_be_visible()
