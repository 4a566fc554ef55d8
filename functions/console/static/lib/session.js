/**
 * Signing in by OpenID Connect: the authorization code flow with PKCE, for a public client.
 *
 * The token lives in this tab's session storage, so that a reload keeps it and closing the tab forgets it. There is no
 * refresh token, which would let whoever took it in for long: when the session is over one signs in again, and the
 * provider, who still knows one, mostly does not ask. What was being written is kept meanwhile.
 */

import { forgetDrafts, keepDrafts, restoreDrafts } from "./drafts.js";
import { createStore } from "./store.js";

const KEPT = "meridian.session";
const UNDER_WAY = "meridian.sign-in";

/**
 * @typedef {object} SignIn How to sign in, from the console's configuration.
 * @property {string} issuer
 * @property {string} clientId
 * @property {string} audience
 *
 * @typedef {object} Session
 * @property {string} token what the API is sent
 * @property {string | null} idToken for signing out
 * @property {string} subject who it is, for the provider
 * @property {string} name whom to show
 * @property {number} expires milliseconds since 1970
 */

/** @type {SignIn | null} */
let client = null;

/** `open`: the API asks for nobody. `ended`: the session was refused or is over. */
export const session = createStore(
  /** @type {{state: "open" | "out" | "in" | "ended", session: Session | null}} */ ({ state: "open", session: null }),
);

/** Reads how to sign in, and the session of this tab when there is one. */
export async function restoreSession() {
  client = (await (await fetch("/console/config.json")).json()).signIn;
  if (client === null) return;
  const kept = sessionStorage.getItem(KEPT);
  /** @type {Session | null} */
  const restored = kept === null ? null : JSON.parse(kept);
  if (restored === null) session.set({ state: "out", session: null });
  else hold(restored);
}

const LONGEST_TIMER = 2 ** 31 - 1;

/**
 * Takes a session until it is over; that is said at once, before somebody writes what could not be sent.
 * @param {Session} held
 */
function hold(held) {
  const left = held.expires - Date.now();
  session.set({ state: left > 0 ? "in" : "ended", session: held });
  if (left > 0) setTimeout(() => session.get().session === held && hold(held), Math.min(left, LONGEST_TIMER));
}

/** The header of a request to the API. @returns {Record<string, string>} */
export function authorization() {
  const held = session.get().session;
  return held === null ? {} : { Authorization: `Bearer ${held.token}` };
}

/** The API refused the token: it is over, whatever it says itself. */
export function lost() {
  if (client === null) return;
  session.set({ state: session.get().session === null ? "out" : "ended", session: session.get().session });
}

/** Leaves for the provider's page; it leads back to `/console/signed-in`. */
export async function signIn() {
  if (client === null) return;
  const provider = await discovery(client.issuer);
  const verifier = randomText();
  const state = randomText();
  const nonce = randomText();
  const back = location.pathname.endsWith("/signed-in") ? "/console/runs" : location.pathname + location.search;
  sessionStorage.setItem(UNDER_WAY, JSON.stringify({ verifier, state, nonce, back }));
  const challenge = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  const query = new URLSearchParams({
    response_type: "code",
    client_id: client.clientId,
    redirect_uri: redirectUri(),
    scope: "openid profile email",
    state,
    nonce,
    code_challenge: base64url(new Uint8Array(challenge)),
    code_challenge_method: "S256",
  });
  if (client.audience !== client.clientId) query.set("audience", client.audience);
  keepDrafts(session.get().session?.subject ?? null);
  location.assign(`${provider.authorization_endpoint}?${query}`);
}

/**
 * Takes the code that the provider led back with, and gives the address that one had left for it.
 * @param {URLSearchParams} query
 * @throws {Error} when the provider refused, or the answer is not to this tab's request
 */
export async function completeSignIn(query) {
  const kept = sessionStorage.getItem(UNDER_WAY);
  sessionStorage.removeItem(UNDER_WAY);
  const begun = kept === null ? null : JSON.parse(kept);
  const code = query.get("code");
  if (client === null || begun === null || code === null || query.get("state") !== begun.state) {
    throw new Error(query.get("error_description") ?? query.get("error") ?? "");
  }
  const provider = await discovery(client.issuer);
  const answer = await fetch(provider.token_endpoint, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      client_id: client.clientId,
      code,
      redirect_uri: redirectUri(),
      code_verifier: begun.verifier,
    }),
  });
  const tokens = await answer.json();
  if (!answer.ok) throw new Error(tokens.error_description ?? tokens.error ?? "");
  const claims = claimsOf(tokens.id_token);
  if (claims.nonce !== begun.nonce) throw new Error("nonce");
  /** @type {Session} */
  const made = {
    // The audience of an ID token is always the client; any other audience is an access token's.
    token: client.audience === client.clientId ? tokens.id_token : tokens.access_token,
    idToken: tokens.id_token,
    subject: claims.sub,
    name: claims.name ?? claims.email ?? claims.preferred_username ?? claims.sub,
    expires: Date.now() + 1000 * (tokens.expires_in ?? 3600),
  };
  sessionStorage.setItem(KEPT, JSON.stringify(made));
  restoreDrafts(made.subject);
  hold(made);
  return String(begun.back);
}

/** Forgets the session here and, where the provider offers it, there. */
export async function signOut() {
  const idToken = session.get().session?.idToken;
  sessionStorage.removeItem(KEPT);
  forgetDrafts();
  session.set({ state: "out", session: null });
  if (client === null) return;
  const end = (await discovery(client.issuer).catch(() => null))?.end_session_endpoint;
  if (!end) return;
  const query = new URLSearchParams({ client_id: client.clientId, post_logout_redirect_uri: `${location.origin}/` });
  if (idToken) query.set("id_token_hint", idToken);
  location.assign(`${end}?${query}`);
}

const redirectUri = () => `${location.origin}/console/signed-in`;

/**
 * @param {string} issuer
 * @returns {Promise<{authorization_endpoint: string, token_endpoint: string, end_session_endpoint?: string}>}
 */
async function discovery(issuer) {
  const answer = await fetch(`${issuer}/.well-known/openid-configuration`);
  if (!answer.ok) throw new Error(String(answer.status));
  return answer.json();
}

const randomText = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

/** @param {Uint8Array} bytes */
function base64url(bytes) {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/**
 * The claims of an ID token. It comes from the provider itself, over TLS, so that its signature need not be checked
 * here (OpenID Connect Core, 3.1.3.7); the API checks that of the token it is sent.
 * @param {string} token
 */
function claimsOf(token) {
  const bytes = Uint8Array.from(atob(token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes));
}
