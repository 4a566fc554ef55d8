/** What is around every page: where one can go, who one is, and whether the services answer. */

import { checkHealth, health } from "../lib/health.js";
import { t } from "../lib/i18n.js";
import { usePolling } from "../lib/polling.js";
import { here, restoredScroll, to } from "../lib/router.js";
import { session, signOut } from "../lib/session.js";
import { useStore } from "../lib/store.js";
import { html, useEffect, useState } from "../lib/view.js";
import { RunsPage } from "../pages/runs.js";
import { Icon } from "./icon.js";
import { Loading, Notice, SignInButton } from "./notice.js";
import { PageHead } from "./page.js";

const HEALTH_INTERVAL = 15_000;

const SECTIONS = [
  { name: "runs", icon: "list" },
  { name: "events", icon: "send" },
  { name: "memory", icon: "database" },
  { name: "workflows", icon: "branch" },
];

/** The pages by the shape of their address. All but the first are loaded when one goes there. */
const PAGES = [
  { pattern: ["runs"], load: async () => RunsPage },
  { pattern: ["runs", "*"], load: async () => (await import("../pages/run.js")).RunPage },
  { pattern: ["events"], load: async () => (await import("../pages/events.js")).EventsPage },
  { pattern: ["memory"], load: async () => (await import("../pages/memory.js")).MemoryPage },
  { pattern: ["workflows"], load: async () => (await import("../pages/workflows.js")).WorkflowsPage },
  { pattern: ["workflows", "*"], load: async () => (await import("../pages/workflow.js")).WorkflowPage },
];

/** @param {{refused: string | null}} props why the provider did not sign one in */
export function Shell({ refused }) {
  const { path } = useStore(here);
  const { state } = useStore(session);
  return html`
    <a class="skip-link" href="#content" onClick=${skip}>${t("shell.skip")}</a>
    <header class="topbar">
      <a class="brand" href=${to(["runs"])}><${Mark} />Meridian</a>
      <nav aria-label=${t("shell.nav")}>
        <ul>
          ${SECTIONS.map(({ name, icon }) => html`<li key=${name}>
            <a href=${to([name])} aria-current=${path[0] === name ? "page" : undefined}>
              <${Icon} name=${icon} />${t(`nav.${name}`)}
            </a>
          </li>`)}
        </ul>
      </nav>
      <${Who} />
    </header>
    <${HealthBanner} />
    <main id="content" tabindex="-1">
      ${state === "out" ? html`<${SignedOut} refused=${refused} />` : html`<${CurrentPage} />`}
    </main>
  `;
}

/**
 * Goes to the content without another entry in the history.
 * @param {Event} event
 */
function skip(event) {
  event.preventDefault();
  document.getElementById("content")?.focus();
}

function CurrentPage() {
  const location = useStore(here);
  const { path } = location;
  const page = PAGES.find(
    ({ pattern }) => pattern.length === path.length && pattern.every((part, at) => part === "*" || part === path[at]),
  );
  const [loaded, setLoaded] = useState(/** @type {{page: any, component: any}} */ ({ page: null, component: null }));
  useEffect(() => {
    if (page === undefined) return;
    page.load().then(
      (component) => setLoaded({ page, component }),
      () => setLoaded({ page, component: NotLoaded }),
    );
  }, [page]);
  const address = path.join("/");
  useEffect(() => {
    if (!location.restored) scrollTo({ top: 0 });
  }, [address]);
  if (page === undefined) {
    return html`<${PageHead} title=${t("failure.404")} /><p><a href=${to(["runs"])}>${t("nav.runs")}</a></p>`;
  }
  if (loaded.page !== page) return html`<${Loading} />`;
  return html`<${loaded.component} key=${address} id=${path[1]} query=${location.query} restoreScroll=${restoredScroll()} />`;
}

function NotLoaded() {
  return html`<${Notice} tone="bad" title=${t("failure.page")} live>
    <p><button type="button" class="button" onClick=${() => location.reload()}><${Icon} name="refresh" />${t("action.retry")}</button></p>
  <//>`;
}

function HealthBanner() {
  const { reachable, restate, runStore } = useStore(health);
  usePolling(checkHealth, HEALTH_INTERVAL, []);
  const down = !reachable ? "network" : !runStore ? "runStore" : !restate ? "restate" : null;
  return html`<div aria-live="polite">
    ${down !== null && html`<div class="banner"><${Icon} name="alert" /><p><strong>${t(`health.${down}`)}</strong> ${t(`health.${down}.means`)}</p></div>`}
    <${SessionBanner} />
  </div>`;
}

function SessionBanner() {
  const { state } = useStore(session);
  if (state !== "ended") return null;
  return html`<div class="banner"><${Icon} name="person" />
    <p><strong>${t("session.ended")}</strong></p>
    <${SignInButton} />
  </div>`;
}

function Who() {
  const { session: held } = useStore(session);
  if (held === null) return null;
  return html`<div class="who">
    <span class="who-name"><${Icon} name="person" />${held.name}</span>
    <button type="button" class="button button-quiet" onClick=${() => signOut()}>${t("session.out")}</button>
  </div>`;
}

/** @param {{refused: string | null}} props */
function SignedOut({ refused }) {
  return html`<section class="signed-out">
    <${Mark} />
    <h1>${t("session.title")}</h1>
    <p>${t("session.text")}</p>
    ${refused !== null && html`<${Notice} tone="bad" title=${t("session.refused")} live><p>${refused}</p><//>`}
    <${SignInButton} />
  </section>`;
}

function Mark() {
  return html`<svg class="mark" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
    <rect width="32" height="32" rx="8" />
    <path d="M7 22V10l9 8 9-8v12" />
  </svg>`;
}
