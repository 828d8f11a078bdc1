import { parseCursor } from "../search/cursor.js";
import { type SearchOptions, searchLimits } from "../search/search.js";

const longestQuery = 500;

/** The most results that can be left out at the beginning. */
export const maxOffset = searchLimits.depth - searchLimits.results;

/** A search as a client asked for it. */
export interface Question {
  readonly query: string;
  readonly options: SearchOptions;
  readonly offset: number;
  readonly limit: number;
}

/** Parses the parameters of a search. Returns a message if one of them is wrong. */
export function readQuestion(given: URLSearchParams): Question | string {
  const query = given.get("q") ?? "";
  if (query.length > longestQuery) return `A query has at most ${longestQuery} characters.`;
  const limit = wholeNumber(given.get("limit"), 10);
  if (limit === undefined || limit < 1 || limit > searchLimits.results)
    return `limit must be a whole number from 1 to ${searchLimits.results}.`;
  const offset = wholeNumber(given.get("offset"), 0);
  if (offset === undefined || offset > maxOffset)
    return `offset must be a whole number from 0 to ${maxOffset}. Use a query with more words instead.`;
  const place = given.get("after");
  const after = place === null ? undefined : parseCursor(place);
  if (place !== null && after === undefined) return "after must be the next of an earlier answer.";
  return { query, offset, limit, options: { limit, offset, after } };
}

function wholeNumber(text: string | null, byDefault: number): number | undefined {
  if (text === null) return byDefault;
  return /^\d{1,6}$/.test(text) ? Number(text) : undefined;
}
