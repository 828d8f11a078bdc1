/**
 * The stored text of a page's terms with their counts in each field: `term counts term counts ...`.
 * The counts are of text, title and anchors, joined by commas, without zeros at the end: `12`,
 * `0,1`, `3,0,2`.
 */
import { levelOf, rankTerm } from "./tables.js";
import { termCounts } from "./text/index.js";

/** The fields of a page that are searched, in the order in which counts are stored. */
export const fields = ["text", "title", "anchors"] as const;

const digits = /^[0-9]+$/;
const space = " ";

export type Counts = readonly [text: number, title: number, anchors: number];

/** Returns a page's own terms: those that were counted in its text, and those of its title. */
export function wordsOf(title: string, text: ReadonlyMap<string, number>): string {
  return format([text, termCounts(title)]);
}

/** Returns all terms by which a page is found: its own, those of its anchors, and its rank's level. */
export function indexedTerms(
  words: string,
  anchors: Iterable<readonly [text: string, times: number]>,
  rank: number,
): string {
  const terms = withAnchors(words, anchors);
  const level = levelOf(rank);
  if (level === 0) return terms;
  return `${terms}${terms === "" ? "" : " "}${rankTerm} ${level}`;
}

/** Adds the terms of a page's anchors to its own terms. */
function withAnchors(words: string, anchors: Iterable<readonly [text: string, times: number]>): string {
  const counts = new Map<string, number>();
  for (const [text, times] of anchors) {
    for (const [term, count] of termCounts(text)) counts.set(term, (counts.get(term) ?? 0) + count * times);
  }
  if (counts.size === 0) return words;
  const parts: string[] = [];
  for (const [term, own] of parseTerms(words)) {
    const count = counts.get(term);
    counts.delete(term);
    parts.push(term, count === undefined ? own : `${own}${own.includes(",") ? "" : ",0"},${count}`);
  }
  for (const [term, count] of counts) parts.push(term, `0,0,${count}`);
  return parts.join(" ");
}

/** Parses the terms of a stored text. The counts stay text, which is enough to compare them. */
export function parseTerms(stored: string): Map<string, string> {
  const terms = new Map<string, string>();
  if (stored === "") return terms;
  const parts = stored.split(" ");
  for (let index = 0; index < parts.length; index += 2) terms.set(parts[index]!, parts[index + 1]!);
  return terms;
}

/** Parses the counts of one term. */
export function parseCounts(stored: string): Counts {
  if (!stored.includes(",")) return [Number(stored), 0, 0];
  const [text = 0, title = 0, anchors = 0] = stored.split(",").map(Number);
  return [text, title, anchors];
}

/** Finds the counts of one term in a stored text without parsing all of it. */
export function countsOf(stored: string, term: string): Counts | undefined {
  const at = digits.test(term) ? placeOfDigits(stored, term) : placeOf(stored, term);
  if (at < 0) return undefined;
  const start = at + term.length + 1;
  const end = stored.indexOf(space, start);
  return parseCounts(end < 0 ? stored.slice(start) : stored.slice(start, end));
}

function placeOf(stored: string, term: string): number {
  const wanted = `${term} `;
  if (stored.startsWith(wanted)) return 0;
  const at = stored.indexOf(` ${wanted}`);
  return at < 0 ? at : at + 1;
}

/** A term of digits could be confused with a count, so this looks at each term. */
function placeOfDigits(stored: string, term: string): number {
  for (const [start, end] of placesOf(stored)) {
    if (end - start === term.length && stored.startsWith(term, start)) return start;
  }
  return -1;
}

/** The start and the end of each term in a stored text. */
export function* placesOf(stored: string): Generator<readonly [start: number, end: number]> {
  for (let start = 0; start < stored.length; ) {
    const end = stored.indexOf(space, start);
    yield [start, end];
    const next = stored.indexOf(space, end + 1);
    if (next < 0) return;
    start = next + 1;
  }
}

/** Returns the number of different terms of each field in a stored text. */
export function lengthsOf(stored: string): Counts {
  const lengths: [number, number, number] = [0, 0, 0];
  if (stored === "") return lengths;
  const parts = stored.split(" ");
  for (let index = 1; index < parts.length; index += 2) {
    if (parts[index - 1] === rankTerm) continue;
    const stored = parts[index]!;
    // Most terms are only in the text.
    if (!stored.includes(",")) {
      lengths[0]++;
      continue;
    }
    const counts = parseCounts(stored);
    for (const field of [0, 1, 2] as const) if (counts[field] > 0) lengths[field]++;
  }
  return lengths;
}

function format([text, title]: readonly [ReadonlyMap<string, number>, ReadonlyMap<string, number>]): string {
  const parts: string[] = [];
  for (const [term, count] of text) {
    const inTitle = title.get(term);
    parts.push(term, inTitle === undefined ? String(count) : `${count},${inTitle}`);
  }
  for (const [term, count] of title) if (!text.has(term)) parts.push(term, `0,${count}`);
  return parts.join(" ");
}
