/**
 * What is stored. Templates, data and the pages' sources are edited; the observers derive
 * everything else.
 */
import { family, json, signal, table, text } from "percolatordb";

/** What a page is made of: its template, and the values that are its own. */
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
  /** The page as it was rendered last. */
  html: text(),
  /** The resources that were looked at for that, whether they were there or not. Sorted. */
  uses: json<readonly string[]>(),
  /** The page, or something that it is made of, has changed. */
  stale: signal(),
});

/** The pages that use a resource, by its name: `uses` of all pages, turned round. */
export const dependents = table("dependents", { pages: family(text()) });

export const tables = [templates, data, pages, dependents];

/** A template or a value of `data`, as `uses` and `dependents` name it. */
export const resource = (kind: "template" | "data", name: string): string => `${kind}/${name}`;
