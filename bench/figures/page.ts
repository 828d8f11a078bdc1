import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { maxOthersShare } from "../harness/machine.js";
import { percent, short, table, verdict } from "../harness/words.js";
import type { Figure } from "./figure.js";
import { drawFigure, type Measured, type Results, type WholeRun, writeResults } from "./results.js";

/**
 * docs/performance.md: the text between the two markers of a block is generated. All other text is
 * written by hand.
 */

const block = /<!-- figure: ([\w-]+) -->\n([\s\S]*?)<!-- end -->/g;

/** The block that describes the machines on which the figures were measured. */
const configurationName = "configuration";
const notMeasured = "Not measured yet.";

export interface Place {
  /** The folder of results and plots. */
  readonly folder: string;
  /** The page whose blocks are replaced. Undefined: the blocks are written next to the results. */
  readonly page: string | undefined;
}

/**
 * Writes results, plots and tables. If a result cannot be drawn, throws before it writes anything.
 */
export function publish(figures: readonly Figure[], results: Results, { folder, page }: Place): void {
  const plots = figures.flatMap((figure) => drawFigure(figure, results).plots);
  const prefix = page === undefined ? "." : relative(dirname(page), folder).replaceAll("\\", "/");
  const blocks = drawBlocks(figures, results, prefix);
  mkdirSync(folder, { recursive: true });
  if (page === undefined) {
    const text = [...blocks].map(([name, each]) => `## ${name}\n\n${each}\n`);
    writeFileSync(join(folder, "tables.md"), text.join("\n"));
  } else {
    const old = readdirSync(folder).filter((name) => name.endsWith(".svg"));
    for (const name of old)
      if (!plots.some((plot) => `${plot.name}.svg` === name)) rmSync(join(folder, name));
    writeFileSync(page, withBlocks(readFileSync(page, "utf8"), blocks));
  }
  for (const { name, svg } of plots) writeFileSync(join(folder, `${name}.svg`), svg);
  writeResults(join(folder, "results.json"), results);
}

/** Returns the blocks of a page, by name. */
export function blocksOf(page: string): ReadonlyMap<string, string> {
  return new Map([...page.matchAll(block)].map(([, name, text]) => [name!, text!]));
}

/**
 * Returns the page with new blocks. Throws if the page has no place for a block, or a place for
 * which there is no block.
 */
export function withBlocks(page: string, blocks: ReadonlyMap<string, string>): string {
  const names = [...blocksOf(page).keys()];
  const missing = [...blocks.keys()].filter((name) => !names.includes(name));
  const unknown = names.filter((name) => !blocks.has(name));
  if (missing.length + unknown.length > 0) {
    throw new Error(
      `The page has no markers for: ${missing.join(", ") || "-"}; and markers of no figure: ${unknown.join(", ") || "-"}.`,
    );
  }
  return page.replaceAll(
    block,
    (_, name: string) => `<!-- figure: ${name} -->\n${blocks.get(name)!.trim()}\n<!-- end -->`,
  );
}

/**
 * Draws the blocks of the page, by name. `plots` is the folder of the plots, relative to the page.
 */
export function drawBlocks(
  figures: readonly Figure[],
  results: Results,
  plots: string,
): ReadonlyMap<string, string> {
  const blocks = figures.map((figure) => [figure.name, blockOf(figure, results, plots)] as const);
  return new Map([[configurationName, configurationBlock(figures, results)], ...blocks]);
}

/** Returns a figure's commands, plots and tables. */
function blockOf(figure: Figure, results: Results, plots: string): string {
  const { tables, plots: drawn } = drawFigure(figure, results);
  if (tables.length + drawn.length === 0) return notMeasured;
  const commands = figure.measurements.map(
    ({ name }) => commandText(results.figures[figure.name]?.[name]) ?? `- ${name}: ${notMeasured}`,
  );
  const images = drawn.map(({ name, alt }) => `![${alt}](${plots}/${name}.svg)`);
  return [commands.join("\n"), ...images, ...tables].join("\n\n");
}

function commandText(measured: Measured | undefined): string | undefined {
  if (measured === undefined) return undefined;
  const { command, size, date, seconds, busyBefore, revision } = measured;
  const others =
    busyBefore === undefined
      ? "; what other programs used just before is not known"
      : `; just before, other programs used ${percent(busyBefore)} of the processors`;
  const at = revision === undefined ? "" : ` at commit ${revision}`;
  return `- \`${command}\`: ${size} size, ${date.slice(0, 10)}${at}, took ${Math.round(seconds)} s${others}`;
}

/** Draws a table with a column for each machine and version. Adds reasons to doubt the figures. */
function configurationBlock(figures: readonly Figure[], results: Results): string {
  const all = figures.flatMap(({ name }) =>
    Object.values(results.figures[name] ?? {}).map((each) => ({ figure: name, ...each })),
  );
  const groups = new Map<string, typeof all>();
  for (const each of all) {
    const { flushMs: _, ...machine } = each.machine;
    const key = JSON.stringify(machine);
    groups.set(key, [...(groups.get(key) ?? []), each]);
  }
  const columns = [...groups.values()];
  if (columns.length === 0) return notMeasured;
  const names = columns.map((each) =>
    columns.length === 1 ? "all figures" : [...new Set(each.map(({ figure }) => figure))].join(", "),
  );
  const row = (name: string, of: (machine: Measured["machine"]) => string) => [
    name,
    ...columns.map((each) => of(each[0]!.machine)),
  ];
  const flushes = columns.map((each) => each.map(({ machine }) => machine.flushMs.median));
  const machines = table(
    ["", ...names],
    [
      row("percolatordb", (machine) => machine.percolatordb),
      row("Node", (machine) => machine.node),
      row("LMDB binding", (machine) => machine.lmdb),
      row("processors", (machine) => `${machine.cores} of ${machine.cpu}`),
      row("memory", (machine) => `${machine.memoryGiB} GiB`),
      row("kernel", (machine) => machine.kernel),
      ["flush of a page of 4 KiB to the disk, median", ...flushes.map(flushText)],
    ],
  );
  return [machines, ...wholeRuns(results), ...caveats(all)].join("\n\n");
}

/** The longest that all measurements may take at small size. */
const maxSmallMinutes = 20;

function wholeRuns({ runs = {} }: Results): readonly string[] {
  const text = (size: string, { date, seconds, revision, machine, archives }: WholeRun) => {
    const at = revision === undefined ? "" : ` at commit ${revision}`;
    const given = archives === 0 ? "no web archives" : `${archives} web archives`;
    return `All measurements at ${size} size, with ${given}, took ${short(seconds / 60)} minutes (${date.slice(0, 10)}${at}, ${machine.cores} of ${machine.cpu})`;
  };
  const { small, full } = runs;
  return [
    ...(small === undefined
      ? []
      : [
          `${text("small", small)}. ${verdict(small.seconds < maxSmallMinutes * 60, `Under ${maxSmallMinutes} minutes`)}.`,
        ]),
    ...(full === undefined ? [] : [`${text("full", full)}.`]),
  ];
}

function caveats(all: readonly Measured[]): readonly string[] {
  const small = all.filter(({ size }) => size === "small").length;
  const busy = all.filter(({ busyBefore }) => (busyBefore ?? 0) > maxOthersShare).length;
  // A machine of which nobody knows how busy it was counts as busy.
  const unknown = all.filter(({ busyBefore }) => busyBefore === undefined).length;
  if (small + busy + unknown === 0) return [];
  const said = [
    small > 0 && `${small} were made at small size`,
    busy > 0 && `before ${busy}, other programs used more than ${percent(maxOthersShare)} of the processors`,
    unknown > 0 && `before ${unknown}, it is not known how much other programs used: count them as busy`,
  ].filter((each) => each !== false);
  return [
    `**Provisional**, of ${all.length} measurements: ${said.join("; ")}. To repeat them at full size, run \`npm run figures -- --full\` on an idle machine.`,
  ];
}

function flushText(flushes: readonly number[]): string {
  const [min, max] = [Math.min(...flushes), Math.max(...flushes)];
  return min === max ? `${short(min)} ms` : `${short(min)} to ${short(max)} ms`;
}
