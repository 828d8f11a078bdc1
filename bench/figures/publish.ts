import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { blockOf, configurationBlock, configurationName, drawFigure } from "./draw.js";
import type { Figure } from "./figure.js";
import { withBlocks } from "./page.js";
import { type Results, writeResults } from "./results.js";

export interface Place {
  /** Where results and plots are. */
  readonly folder: string;
  /** The page whose blocks are replaced; undefined: they are written beside the results. */
  readonly page: string | undefined;
}

/** Blocks of the page by their names. `plots`: the folder of the plots, seen from the page. */
export function blocksOf(
  figures: readonly Figure[],
  results: Results,
  plots: string,
): ReadonlyMap<string, string> {
  const blocks = figures.map((figure) => [figure.name, blockOf(figure, results, plots)] as const);
  return new Map([[configurationName, configurationBlock(figures, results)], ...blocks]);
}

/** Writes results, plots and tables. Throws where a result cannot be read, before anything is written. */
export function publish(figures: readonly Figure[], results: Results, { folder, page }: Place): void {
  const drawings = figures.flatMap((figure) => drawFigure(figure, results).plots);
  const plots = page === undefined ? "." : relative(dirname(page), folder).replaceAll("\\", "/");
  const blocks = blocksOf(figures, results, plots);
  mkdirSync(folder, { recursive: true });
  if (page !== undefined) removeOthers(folder, new Set(drawings.map(({ name }) => `${name}.svg`)));
  for (const { name, svg } of drawings) writeFileSync(join(folder, `${name}.svg`), svg);
  if (page !== undefined) writeFileSync(page, withBlocks(readFileSync(page, "utf8"), blocks));
  else
    writeFileSync(
      join(folder, "tables.md"),
      [...blocks].map(([name, text]) => `## ${name}\n\n${text}\n`).join("\n"),
    );
  writeResults(join(folder, "results.json"), results);
}

/** Plots that nothing draws any more. */
function removeOthers(folder: string, drawn: ReadonlySet<string>): void {
  const plots = readdirSync(folder).filter((name) => name.endsWith(".svg"));
  for (const name of plots) if (!drawn.has(name)) rmSync(join(folder, name));
}
