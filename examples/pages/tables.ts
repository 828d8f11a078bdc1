/**
 * The tables. Templates, data and the pages' sources are edited. The observers derive everything
 * else.
 */
import { family, json, signal, table, text } from "percolatordb";

/** The source of a page: its template, and its own values. */
export interface Source {
  readonly template: string;
  readonly values: Readonly<Record<string, string>>;
}

/** Templates by name. A partial is a template that another one includes. */
export const templates = table("templates", { text: text() });

/** Values that many pages share, by name. */
export const data = table("data", { value: text() });

/** Pages by URL. */
export const pages = table("pages", {
  source: json<Source>(),
  /** The last rendering of the page. */
  html: text(),
  /** The resources that this rendering requested, including missing ones. Sorted. */
  uses: json<readonly string[]>(),
  /** The page, or a resource that it uses, has changed. */
  stale: signal(),
});

/** The pages that use a resource, by its name: the inverse of `uses` of all pages. */
export const dependents = table("dependents", { pages: family(text()) });

export const tables = [templates, data, pages, dependents];

/** A template or a value of `data`, as `uses` and `dependents` name it. */
export const resource = (kind: "template" | "data", name: string): string => `${kind}/${name}`;
