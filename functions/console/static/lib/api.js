/** Requests to the API: JSON in and out, every failure an `ApiError` that says what kind it is. */

import { recheckHealth } from "./health.js";
import { compact, parse } from "./json.js";
import { authorization, lost } from "./session.js";
import { hearTime } from "./time.js";

const PATIENCE = 35_000; // longer than the API takes to give up by itself

/**
 * @typedef {object} FieldFault
 * @property {string} in body, query, path or header
 * @property {string} pointer
 * @property {string} detail
 */

/** A request that was not answered as asked. `status` is 0 when there was no answer at all. */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {{title?: string, detail?: string, errors?: FieldFault[], [member: string]: unknown}} problem
   */
  constructor(status, problem) {
    super(problem.detail ?? problem.title ?? String(status));
    this.status = status;
    this.problem = problem;
  }

  /** What is wrong with each field, for input that was refused. */
  get faults() {
    return this.problem.errors ?? [];
  }
}

/**
 * @typedef {object} Answer
 * @property {number} status
 * @property {any} body
 */

/**
 * @param {string} method
 * @param {string} path
 * @param {{query?: Record<string, string | number | null | undefined>, body?: unknown, text?: string, signal?: AbortSignal}} [options]
 *   `text` is a body that is JSON already
 * @returns {Promise<Answer>}
 * @throws {ApiError}
 */
export async function request(method, path, { query = {}, body, text, signal } = {}) {
  const content = body === undefined ? text : compact(body);
  /** @type {Record<string, string>} */
  const headers = { Accept: "application/json", ...authorization() };
  if (content !== undefined) headers["Content-Type"] = "application/json";
  const timeout = AbortSignal.timeout(PATIENCE);
  let answer, received;
  try {
    answer = await fetch(path + search(query), {
      method,
      headers,
      body: content,
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
    received = await answer.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, {});
  }
  hearTime(answer.headers.get("Date"));
  const document = readable(received);
  if (answer.ok && document !== null) {
    recheckHealth();
    return { status: answer.status, body: document };
  }
  if (answer.ok) throw new ApiError(0, {}); // cut off, or another's page: that is no answer of the API
  if (answer.status === 401) lost();
  throw new ApiError(answer.status, document ?? {});
}

/**
 * @param {string} path
 * @param {{query?: Record<string, string | number | null | undefined>, signal?: AbortSignal}} [options]
 */
export const read = async (path, options) => (await request("GET", path, options)).body;

/** @param {Record<string, string | number | null | undefined>} query */
function search(query) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return given.length === 0 ? "" : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}

/** @param {string} text */
function readable(text) {
  try {
    return parse(text);
  } catch {
    return null;
  }
}

/**
 * A path of the API, each segment encoded.
 * @param {...string} segments
 */
export const api = (...segments) => `/api/${segments.map(encodeURIComponent).join("/")}`;
