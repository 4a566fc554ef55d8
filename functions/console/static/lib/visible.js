/**
 * Texts of others, shown as what they are.
 *
 * Characters that cannot be seen, and those that turn the order of the ones beside them, are written as JSON escapes
 * them: a patient `p-<right-to-left override>24` would else be read as p-42. Letters that are written from right to
 * left, and the joiners that some scripts and emoji need, stay as they are.
 */

const UNSEEN = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** @param {string} text */
export const visible = (text) =>
  text.replace(UNSEEN, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
