/**
 * A list that is read page by page and kept fresh without moving what is being read.
 *
 * Rows that are shown change in place and keep their order. New ones are only counted, in `fresh`, until the reader
 * asks for them. A row that the filter no longer chooses stays, marked `gone`.
 */

/**
 * @typedef {object} Page
 * @property {any[]} rows
 * @property {string | null} next cursor of the page after it
 *
 * @typedef {(cursor: string | null, limit: number, signal?: AbortSignal) => Promise<Page>} ReadPage
 */

export const FIRST_PAGE = 50;
const LATER_PAGES = 200;
const MOST_REFRESHED = 3; // pages in one refresh

export class PagedList {
  /**
   * @param {ReadPage} readPage
   * @param {(row: any) => string} idOf
   * @param {(row: any) => boolean} isFinal whether a row will not change any more
   */
  constructor(readPage, idOf, isFinal) {
    this._readPage = readPage;
    this._idOf = idOf;
    this._isFinal = isFinal;
    /** @type {any[]} */
    this.rows = [];
    /** @type {{cursor: string | null, limit: number, start: number, end: number}[]} */
    this._pages = [];
    /** @type {string | null} */
    this._next = null;
    this.loaded = false; // the first page is there
    this.fresh = 0; // rows that the first page has now and that are not shown
    /** @type {any} */
    this.error = null; // of the last reading
    this._reading = false;
    this._begun = 0; // how often
  }

  /** Whether there are rows after those shown. */
  get hasMore() {
    return this._next !== null;
  }

  /** Reads the first page, in place of what was shown. @param {AbortSignal} [signal] */
  async begin(signal) {
    const turn = ++this._begun;
    await this._attempt(async () => {
      const page = await this._readPage(null, FIRST_PAGE, signal);
      if (turn !== this._begun) return; // overtaken
      this.rows = page.rows;
      this._pages = [{ cursor: null, limit: FIRST_PAGE, start: 0, end: page.rows.length }];
      this._next = page.next;
      this.fresh = 0;
      this.loaded = true;
    });
  }

  /** Reads the page after those shown, unless one is being read. */
  async more() {
    const cursor = this._next;
    if (cursor === null || this._reading) return;
    this._reading = true;
    const known = this._pages;
    try {
      await this._attempt(async () => {
        const page = await this._readPage(cursor, LATER_PAGES);
        if (this._pages !== known) return; // begun anew meanwhile
        const start = this.rows.length;
        this.rows = [...this.rows, ...page.rows];
        this._pages.push({ cursor, limit: LATER_PAGES, start, end: this.rows.length });
        this._next = page.next;
      });
    } finally {
      this._reading = false;
    }
  }

  /**
   * Reads the first page again, and those around the rows `from` to `to` that may have changed.
   * @param {number} from
   * @param {number} to
   * @param {AbortSignal} [signal]
   */
  async refresh(from, to, signal) {
    if (!this.loaded) return this.begin(signal);
    const pages = this._pages;
    const inSight = pages.filter(
      ({ start, end }, index) =>
        index > 0 && start < to && end > from && this.rows.slice(start, end).some((row) => !this._isFinal(row)),
    );
    return this._attempt(async () => {
      for (const page of [pages[0], ...inSight.slice(0, MOST_REFRESHED)]) {
        const read = await this._readPage(page.cursor, page.limit, signal);
        if (this._pages !== pages) return;
        if (page === pages[0]) this._countFresh(read);
        this._merge(read.rows);
      }
    });
  }

  /** @param {Page} first */
  _countFresh(first) {
    if (this.rows.length === 0) {
      this.rows = first.rows;
      this._pages[0].end = first.rows.length;
      this._next = first.next;
      return;
    }
    const known = new Set(this.rows.map(this._idOf));
    this.fresh = first.rows.filter((row) => !known.has(this._idOf(row))).length;
  }

  /** @param {any[]} read rows of one page, in order */
  _merge(read) {
    const byId = new Map(read.map((row) => [this._idOf(row), row]));
    const places = this.rows.flatMap((row, index) => (byId.has(this._idOf(row)) ? [index] : []));
    if (places.length === 0) return;
    const [first, last] = [places[0], places[places.length - 1]];
    this.rows = this.rows.map((row, index) => {
      if (index < first || index > last) return row;
      const now = byId.get(this._idOf(row));
      if (now === undefined) return row.gone ? row : { ...row, gone: true };
      return sameRow(row, now) ? row : now;
    });
  }

  /** @param {() => Promise<void>} task */
  async _attempt(task) {
    try {
      await task();
      this.error = null;
    } catch (error) {
      if (!(error instanceof DOMException && error.name === "AbortError")) this.error = error;
      throw error;
    }
  }
}

/**
 * @param {any} one
 * @param {any} other
 */
const sameRow = (one, other) => JSON.stringify(one) === JSON.stringify(other);
