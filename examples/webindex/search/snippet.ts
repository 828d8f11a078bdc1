import { fold, isUnspaced } from "../text/index.js";

/** A part of a snippet, and whether it is a word of the query. */
export interface SnippetPart {
  readonly text: string;
  readonly match: boolean;
}

const letterAtEnd = /[\p{L}\p{N}\p{M}]$/u;
const letterAtStart = /^[\p{L}\p{N}\p{M}]/u;
/** Limits of the work for one page: the characters to search, and the matches to consider. */
const lookAt = 200_000;
const maxMatches = 2_000;
const snippetLength = 240;
const before = 40;

interface Match {
  readonly start: number;
  readonly end: number;
  readonly term: string;
}

/**
 * Returns the part of a text in which most of the terms occur, with the terms marked. The text must be in
 * the compatibility form that terms have (NFKC).
 */
export function makeSnippet(text: string, terms: ReadonlySet<string>): SnippetPart[] {
  const matches = findMatches(text.slice(0, lookAt), terms);
  const first = bestWindow(matches);
  const from = first === undefined ? 0 : wordStart(text, first.start);
  const to = wordEnd(text, from + snippetLength);
  const parts: SnippetPart[] = from > 0 ? [{ text: "… ", match: false }] : [];
  let at = from;
  for (const { start, end } of matches) {
    if (start < from || end > to) continue;
    if (start > at) parts.push({ text: text.slice(at, start), match: false });
    parts.push({ text: text.slice(start, end), match: true });
    at = end;
  }
  if (to > at) parts.push({ text: text.slice(at, to), match: false });
  if (to < text.length) parts.push({ text: " …", match: false });
  return parts;
}

/** Finds the terms as whole words. Words of text without spaces have no boundaries to look at. */
function findMatches(text: string, terms: ReadonlySet<string>): Match[] {
  if (terms.size === 0) return [];
  const matches: Match[] = [];
  for (const { 0: found, index: start } of text.matchAll(patternOf(terms))) {
    const end = start + found.length;
    const term = fold(found);
    if (!terms.has(term) || (!isUnspaced(term) && !isWhole(text, start, end))) continue;
    matches.push({ start, end, term });
    if (matches.length === maxMatches) break;
  }
  return matches;
}

/** One search for all terms is many times faster than a look at every word. */
function patternOf(terms: ReadonlySet<string>): RegExp {
  const longestFirst = [...terms].sort((a, b) => b.length - a.length);
  return new RegExp(longestFirst.join("|"), "giu");
}

function isWhole(text: string, start: number, end: number): boolean {
  return (
    !letterAtEnd.test(text.slice(Math.max(0, start - 2), start)) &&
    !letterAtStart.test(text.slice(end, end + 2))
  );
}

/**
 * Returns the match that begins the best window: the one with most different terms, then with most
 * matches, then the first.
 */
function bestWindow(matches: readonly Match[]): Match | undefined {
  let best: Match | undefined;
  let bestScore = 0;
  for (const [index, match] of matches.entries()) {
    const terms = new Set<string>();
    let count = 0;
    for (let at = index; at < matches.length; at++) {
      const other = matches[at]!;
      if (other.end > match.start + snippetLength - before) break;
      terms.add(other.term);
      count++;
    }
    const score = terms.size * snippetLength + count;
    if (score > bestScore) {
      best = match;
      bestScore = score;
    }
  }
  return best;
}

/** Returns the beginning of a word, a little before `position`. */
function wordStart(text: string, position: number): number {
  if (position <= before) return 0;
  const space = text.indexOf(" ", position - before);
  return space >= 0 && space < position ? space + 1 : position;
}

/** Returns the end of the last whole word before `position`. */
function wordEnd(text: string, position: number): number {
  if (position >= text.length) return text.length;
  const space = text.lastIndexOf(" ", position);
  if (space > position - before) return space;
  const last = text.charCodeAt(position - 1);
  return last >= 0xd800 && last < 0xdc00 ? position - 1 : position;
}
