/** Starts the page: language, session, then whatever the address names. */

import { Shell } from "./components/shell.js";
import { checkHealth } from "./lib/health.js";
import { loadMessages } from "./lib/i18n.js";
import { followLinks, go, here } from "./lib/router.js";
import { completeSignIn, restoreSession } from "./lib/session.js";
import { html, render } from "./lib/view.js";

async function start() {
  followLinks();
  await Promise.all([loadMessages(), restoreSession()]);
  let refused = null;
  if (here.get().path[0] === "signed-in") {
    try {
      go(await completeSignIn(here.get().query), { replace: true });
    } catch (error) {
      refused = error instanceof Error ? error.message : "";
    }
  }
  if (here.get().path.length === 0) go("/console/runs", { replace: true });
  checkHealth();
  render(html`<${Shell} refused=${refused} />`, /** @type {HTMLElement} */ (document.getElementById("root")));
}

start();
