import axe from "axe-core";
import type { Page } from "playwright-core";

interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** What axe finds wrong with a page as it is, a line each; none where nothing is. */
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

/** By how many pixels the page is wider than what shows it. */
export async function overflowOf(page: Page): Promise<number> {
  return (await page.evaluate("document.documentElement.scrollWidth - innerWidth")) as number;
}
