"""What the page says when there is nothing, when something fails, and when Restate is away."""

from playwright.sync_api import Page, Route, expect

from tests.e2e.console.actions import ALERT, Actions


def refuse(status: int, detail: str):
    problem = {"type": "about:blank", "title": "Error", "status": status, "detail": detail}

    def answer(route: Route) -> None:
        route.fulfill(status=status, json=problem, headers={"Content-Type": "application/problem+json"})

    return answer


def test_restate_is_stopped_and_started_and_the_page_says_both(page: Page, actions: Actions) -> None:
    slug = actions.publish(ALERT, "restate-down")
    run_id = actions.send(slug)
    actions.await_status(run_id, "suspended")

    with actions.restate_stopped():
        page.goto(f"/console/runs?workflow={slug}")
        expect(page.get_by_text("Restate does not answer.")).to_be_visible()
        expect(page.locator("tbody tr")).to_contain_text("Unknown")
        page.get_by_role("link", name="Potassium alert").click()
        expect(page.get_by_text("Nobody knows how this run stands")).to_be_visible()

    expect(page.get_by_text("Restate does not answer.")).to_have_count(0, timeout=60_000)
    expect(page.locator(".page-head .status")).to_have_text("Needs a decision", timeout=60_000)


def test_a_list_without_rows_says_how_to_get_some(page: Page) -> None:
    page.goto("/console/runs?workflow=no-such-workflow")
    expect(page.get_by_text("No run has all of these")).to_be_visible()


def test_a_database_error_is_an_error_and_never_an_empty_list(page: Page) -> None:
    page.route("**/api/runs?**", refuse(503, "The run index cannot be reached."))
    page.goto("/console/runs")

    expect(page.get_by_text("Restate or the database is out of reach")).to_be_visible()
    expect(page.get_by_text("The run index cannot be reached.")).to_be_visible()
    expect(page.get_by_text("No runs yet")).to_have_count(0)

    page.unroute("**/api/runs?**")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("out of reach")).to_have_count(0)


def test_a_database_that_ends_its_connections_is_an_error_until_it_is_back(page: Page, actions: Actions) -> None:
    slug = actions.publish(ALERT, "database-down")
    actions.send(slug)

    with actions.database_closed():
        page.goto(f"/console/runs?workflow={slug}")
        expect(page.get_by_text("The database does not answer.")).to_be_visible()
        expect(page.get_by_text("Restate or the database is out of reach")).to_be_visible()
        expect(page.get_by_text("No run has all of these")).to_have_count(0)

    page.get_by_role("button", name="Try again").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.get_by_text("The database does not answer.")).to_have_count(0)


def test_a_page_without_its_scripts_says_that_it_is_not_there(page: Page) -> None:
    page.route("**/app.js", lambda route: route.abort())
    page.goto("/console/runs")
    expect(page.get_by_text("Meridian is not there yet.")).to_be_visible()


def test_an_answer_that_is_cut_off_is_a_failure(page: Page) -> None:
    page.route("**/api/workflows", lambda route: route.fulfill(status=200, body='{"workflows": ['))
    page.goto("/console/workflows")
    expect(page.get_by_text("The service did not answer.").first).to_be_visible()


def test_a_list_that_cannot_be_read_again_stays_and_says_so(page: Page, actions: Actions) -> None:
    slug = actions.publish(ALERT, "stale")
    actions.send(slug)
    page.goto(f"/console/runs?workflow={slug}")
    expect(page.locator("tbody tr")).to_have_count(1)

    page.route("**/api/runs?**", refuse(500, "The request could not be answered."))

    expect(page.get_by_text("it could not be read again")).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(1)


def test_loading_is_said_until_the_first_answer(page: Page) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/api/workflows", hold)
    with page.expect_request("**/api/workflows"):
        page.goto("/console/workflows")
    expect(page.get_by_role("status").filter(has_text="Loading…")).to_have_count(1)

    held[0].continue_()
    expect(page.get_by_role("status").filter(has_text="Loading…")).to_have_count(0)


def test_an_address_that_leads_nowhere_says_so(page: Page) -> None:
    page.goto("/console/nowhere")
    expect(page.get_by_text("There is nothing at this address")).to_be_visible()
    page.get_by_role("main").get_by_role("link", name="Runs").click()
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()
