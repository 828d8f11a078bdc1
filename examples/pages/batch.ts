import type { Snapshot } from "percolatordb";
import { type Rendered, render } from "./render.js";
import { data, dependents, pages, type Source, templates } from "./tables.js";

/** The batch twin: renders every page from scratch, in one snapshot. */
export async function renderAll(view: Snapshot): Promise<ReadonlyMap<string, Rendered>> {
  const sources = new Map<string, Source>();
  const texts = new Map<string, string>();
  const values = new Map<string, string>();
  for await (const { row, value } of view.scan(pages.source)) sources.set(row, value);
  for await (const { row, value } of view.scan(templates.text)) texts.set(row, value);
  for await (const { row, value } of view.scan(data.value)) values.set(row, value);
  const resources = {
    template: async (name: string) => texts.get(name),
    data: async (name: string) => values.get(name),
  };
  const rendered = new Map<string, Rendered>();
  for (const [url, source] of sources) rendered.set(url, await render(source, resources));
  return rendered;
}

/**
 * Compares the observers' results with the twin's. Returns the differences, one sentence each.
 * Empty when everything is rendered.
 */
export async function differences(view: Snapshot): Promise<readonly string[]> {
  const expected = await renderAll(view);
  const found: string[] = [];
  const uses = new Set<string>();
  for await (const { row: url, value: page } of view.scan(pages)) {
    const twin = expected.get(url);
    if (page.html !== twin?.html) found.push(`${url} is ${page.html}, and from scratch ${twin?.html}.`);
    if (String(page.uses) !== String(twin?.uses)) found.push(`${url} uses other resources from scratch.`);
  }
  for (const [url, page] of expected) for (const name of page.uses) uses.add(`${name} by ${url}`);
  for await (const { row: name, value } of view.scan(dependents)) {
    for (const url of value.pages.keys()) {
      if (!uses.delete(`${name} by ${url}`)) found.push(`${name} is not used by ${url}.`);
    }
  }
  for (const use of uses) found.push(`${use} is not among the dependents.`);
  return found;
}
