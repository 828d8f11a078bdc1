/**
 * The terms of a page with their counts in each field, as the text that is stored: `term counts term counts ...`. The
 * counts are of text, title and anchors, joined by commas, without zeros at the end: `12`, `0,1`, `3,0,2`.
 */
import { termCounts } from "./text/index.js";

/** The fields of a page that are searched, in the order of their counts. */
export const fields = ["text", "title", "anchors"] as const;

export type Counts = readonly [text: number, title: number, anchors: number];

/** The terms of a page's own: of its text and title. */
export function wordsOf(title: string, text: string): string {
  return format([termCounts(text), termCounts(title)]);
}

/** The terms of a page with those of its anchors. */
export function withAnchors(
  words: string,
  anchors: Iterable<readonly [text: string, times: number]>,
): string {
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

/** The terms of a stored text, with their counts as text: enough to compare them. */
export function parseTerms(stored: string): Map<string, string> {
  const terms = new Map<string, string>();
  if (stored === "") return terms;
  const parts = stored.split(" ");
  for (let index = 0; index < parts.length; index += 2) terms.set(parts[index]!, parts[index + 1]!);
  return terms;
}

/** The counts of one term. */
export function parseCounts(stored: string): Counts {
  if (!stored.includes(",")) return [Number(stored), 0, 0];
  const [text = 0, title = 0, anchors = 0] = stored.split(",").map(Number);
  return [text, title, anchors];
}

/** How many different terms each field has. */
export function lengthsOf(terms: ReadonlyMap<string, string>): Counts {
  const lengths: [number, number, number] = [0, 0, 0];
  for (const counts of terms.values()) {
    const [text, title, anchors] = parseCounts(counts);
    if (text > 0) lengths[0]++;
    if (title > 0) lengths[1]++;
    if (anchors > 0) lengths[2]++;
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
