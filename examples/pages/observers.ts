import { observer, type Transaction } from "percolatordb";
import { render } from "./render.js";
import { data, dependents, pages, resource, templates } from "./tables.js";

/** A page's source was edited, so the page itself is stale. */
const edited = observer("edited", pages.source, (tx, { row: url }) => tx.notify(pages.stale, url));

/** A resource was edited, so the pages that use it are stale, directly or through templates. */
const template = observer("template", templates.text, (tx, { row: name }) =>
  notifyDependents(tx, resource("template", name)),
);
const shared = observer("data", data.value, (tx, { row: name }) =>
  notifyDependents(tx, resource("data", name)),
);

async function notifyDependents(tx: Transaction, name: string): Promise<void> {
  for await (const { qualifier: url } of tx.entries(dependents.pages, name)) tx.notify(pages.stale, url);
}

/** Renders a stale page, and records the resources that it used. */
export async function renderPage(tx: Transaction, url: string): Promise<void> {
  const source = await tx.get(pages.source, url);
  const before = (await tx.get(pages.uses, url)) ?? [];
  const resources = {
    template: (name: string) => tx.get(templates.text, name),
    data: (name: string) => tx.get(data.value, name),
  };
  const after = source && (await render(source, resources));
  const uses = after?.uses ?? [];
  for (const name of before) if (!uses.includes(name)) tx.delete(dependents.pages.at(url), name);
  for (const name of uses) if (!before.includes(name)) tx.set(dependents.pages.at(url), name, "");
  if (after === undefined) {
    tx.delete(pages.html, url);
    tx.delete(pages.uses, url);
  } else {
    tx.set(pages.html, url, after.html);
    tx.set(pages.uses, url, uses);
  }
}

/**
 * Serializable, because a template may change between a run's read of it and the run's commit. The
 * run for that change looks for the template's dependents and does not find this page yet. Under
 * snapshot isolation the page would stay outdated. A serializable run conflicts and is retried.
 */
export const rendering = observer("render", pages.stale, (tx, { row: url }) => renderPage(tx, url), {
  isolation: "serializable",
});

export const observers = [edited, template, shared, rendering];
