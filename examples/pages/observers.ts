import { observer, type Transaction } from "percolatordb";
import { render } from "./render.js";
import { data, dependents, pages, resource, templates } from "./tables.js";

/** A page's source was edited: the page itself is stale. */
const edited = observer("edited", pages.source, (tx, { row: url }) => tx.notify(pages.stale, url));

/** A resource was edited: the pages that use it are stale, through however many templates. */
const template = observer("template", templates.text, (tx, { row: name }) =>
  notifyDependents(tx, resource("template", name)),
);
const shared = observer("data", data.value, (tx, { row: name }) =>
  notifyDependents(tx, resource("data", name)),
);

async function notifyDependents(tx: Transaction, name: string): Promise<void> {
  for await (const { qualifier: url } of tx.entries(dependents.pages, name)) tx.notify(pages.stale, url);
}

/** Renders a stale page, and writes down what it used. */
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
 * Serializable, since it reads what others write while those read what it writes: between this
 * run's reading of a template and its commit the template may change, and a run that then looks for
 * that template's dependents does not find this page yet. Under snapshot isolation the page would
 * stay as it is; serializable, the run conflicts and is done again.
 */
export const rendering = observer("render", pages.stale, (tx, { row: url }) => renderPage(tx, url), {
  isolation: "serializable",
});

export const observers = [edited, template, shared, rendering];
