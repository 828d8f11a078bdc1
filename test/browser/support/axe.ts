import axe from "axe-core";
import type { Page } from "playwright-core";

interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** Returns the accessibility errors that axe finds on the page, one on each line. */
export async function axeViolations(page: Page): Promise<readonly string[]> {
  const isThere = await page.evaluate("typeof axe === 'object'");
  if (!isThere) await page.evaluate(`${axe.source}; undefined`);
  const found = (await page.evaluate(
    "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => JSON.stringify(violations))",
  )) as string;
  return (JSON.parse(found) as readonly Violation[]).flatMap(({ id, help, nodes }) =>
    nodes.map(
      ({ html, failureSummary = "" }) =>
        `${id}: ${help}: ${html.slice(0, 160)} ${failureSummary.slice(0, 300)}`,
    ),
  );
}

/** Returns by how many pixels the page is wider than the viewport. */
export async function overflowOf(page: Page): Promise<number> {
  return (await page.evaluate("document.documentElement.scrollWidth - innerWidth")) as number;
}
