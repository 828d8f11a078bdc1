/** The words of a text, with their places. */

import { type Parts, partLength } from "./parts.js";

/** A letter or digit of any script, followed by letters, digits and combining marks. */
const pattern = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/uy;

/** By code: 1 for an ASCII letter or digit. */
const isAsciiWord = Uint8Array.from({ length: 128 }, (_, code) =>
  /[a-z0-9]/i.test(String.fromCharCode(code)) ? 1 : 0,
);

// biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII has them
const beyondAscii = /[^\x00-\x7f]/;

/** Scripts that are written without spaces between words. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/**
 * ICU divides all of these scripts by the same rules and dictionaries in every locale. A fixed
 * locale keeps the terms independent of the machine.
 */
const segmenter = new Intl.Segmenter("zh", { granularity: "word" });

/**
 * The most UTF-16 code units that are segmented together. The time of `Intl.Segmenter` grows with
 * the square of the length.
 */
const longestSegmented = 256;

/** Whether a text has only ASCII characters, as most have. Such a text needs fewer looks. */
export function isAscii(text: string): boolean {
  return !beyondAscii.test(text);
}

/** Whether a word is written without spaces around it. */
export function isUnspaced(word: string): boolean {
  return unspaced.test(word);
}

/** Receives a word and where it begins. */
export type WordVisitor = (word: string, index: number) => void;

/**
 * Visits the words of a text by Unicode's definition, in parts. Text without spaces, such as Chinese
 * and Japanese, is divided by dictionaries.
 */
export function* visitWords(text: string, visit: WordVisitor): Parts<void> {
  const isSpaced = isAscii(text) || !unspaced.test(text);
  for (let at = 0; ; ) {
    at = visitPart(text, at, isSpaced, visit);
    if (at >= text.length) return;
    yield;
  }
}

/** Visits the words that begin in the part of `text` from `start` on. Returns where the next part begins. */
function visitPart(text: string, start: number, isSpaced: boolean, visit: WordVisitor): number {
  const until = Math.min(text.length, start + partLength);
  let at = start;
  while (at < until) {
    const end = endOfWord(text, at);
    if (end === at) {
      at += text.codePointAt(at)! > 0xffff ? 2 : 1;
      continue;
    }
    const word = text.slice(at, end);
    if (isSpaced || !unspaced.test(word)) visit(word, at);
    else divide(word, at, visit);
    at = end;
  }
  return at;
}

/**
 * Returns where the word that begins at `start` ends, or `start` if none begins there. Most words
 * are ASCII, which needs no regular expression and is three times as fast without one.
 */
function endOfWord(text: string, start: number): number {
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= 128) {
      pattern.lastIndex = start;
      return pattern.test(text) ? pattern.lastIndex : start;
    }
    if (isAsciiWord[code] === 0) return at;
  }
  return text.length;
}

function divide(run: string, start: number, visit: WordVisitor): void {
  for (let from = 0; from < run.length; ) {
    const to = endOfPiece(run, from);
    for (const { segment, index } of segmenter.segment(run.slice(from, to)))
      visit(segment, start + from + index);
    from = to;
  }
}

/** Ends a piece before a character that takes two code units, not within it. */
function endOfPiece(run: string, from: number): number {
  const to = from + longestSegmented;
  if (to >= run.length) return run.length;
  const last = run.charCodeAt(to - 1);
  return last >= 0xd800 && last < 0xdc00 ? to - 1 : to;
}
