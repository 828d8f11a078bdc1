import { type Drawing, type Figure, FigureResults, UnreadableResultError } from "./figure.js";
import type { Machine } from "./machine.js";
import type { Measured, Results } from "./results.js";
import { percent, short, table } from "./words.js";

/** The block of the page that says where the figures are from. */
export const configurationName = "configuration";

const notMeasured = "Not measured yet.";

/** What is drawn of a figure; nothing where nothing was measured. */
export function drawFigure(figure: Figure, results: Results): Drawing {
  const measured = results.figures[figure.name] ?? {};
  const raw = Object.fromEntries(Object.entries(measured).map(([name, { result }]) => [name, result]));
  if (Object.keys(raw).length === 0) return { tables: [], plots: [] };
  return figure.draw(new FigureResults(figure.name, raw));
}

/** Results without those that their figures cannot read, with the names of these: older ones, of other measurements. */
export function readableOf(
  figures: readonly Figure[],
  results: Results,
): { readonly readable: Results; readonly dropped: readonly string[] } {
  const kept = figures.filter(
    (figure) => results.figures[figure.name] !== undefined && isReadable(figure, results),
  );
  const names = kept.map(({ name }) => name);
  return {
    readable: { figures: Object.fromEntries(names.map((name) => [name, results.figures[name]!])) },
    dropped: Object.keys(results.figures).filter((name) => !names.includes(name)),
  };
}

function isReadable(figure: Figure, results: Results): boolean {
  try {
    drawFigure(figure, results);
    return true;
  } catch (error) {
    if (error instanceof UnreadableResultError) return false;
    throw error;
  }
}

/** A figure's block of the page: the commands, the plots and the tables. `plots`: where they are, seen from the page. */
export function blockOf(figure: Figure, results: Results, plots: string): string {
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
      ? ""
      : `; before it, other programs took ${percent(busyBefore)} of the processors`;
  const at = revision === undefined ? "" : ` at ${revision}`;
  return `- \`${command}\`: ${size} size, ${date.slice(0, 10)}${at}, ${Math.round(seconds)} s${others}`;
}

/** On what the figures were measured: a column for each machine and version. */
export function configurationBlock(figures: readonly Figure[], results: Results): string {
  const groups = new Map<
    string,
    { readonly machine: Machine; readonly names: Set<string>; readonly flushes: number[] }
  >();
  for (const { name } of figures) {
    for (const { machine } of Object.values(results.figures[name] ?? {})) {
      const { flushMs, ...rest } = machine;
      const key = JSON.stringify(rest);
      const group = groups.get(key) ?? { machine, names: new Set(), flushes: [] };
      group.names.add(name);
      group.flushes.push(flushMs.median);
      groups.set(key, group);
    }
  }
  const columns = [...groups.values()];
  if (columns.length === 0) return notMeasured;
  const row = (name: string, of: (column: (typeof columns)[number]) => string) => [name, ...columns.map(of)];
  const machines = table(
    ["", ...columns.map(({ names }) => (columns.length === 1 ? "all figures" : [...names].join(", ")))],
    [
      row("percolatordb", ({ machine }) => machine.percolatordb),
      row("Node", ({ machine }) => machine.node),
      row("LMDB binding", ({ machine }) => machine.lmdb),
      row("processors", ({ machine }) => `${machine.cores} of ${machine.cpu}`),
      row("memory", ({ machine }) => `${machine.memoryGiB} GiB`),
      row("kernel", ({ machine }) => machine.kernel),
      row("flush of a page of 4 KiB to the disk, median", ({ flushes }) => flushText(flushes)),
    ],
  );
  return [machines, ...caveats(figures, results)].join("\n\n");
}

/** The part of the processors beyond which others have a part in a measurement. */
const quiet = 0.1;

/** What speaks against the figures that stand on the page now. */
function caveats(figures: readonly Figure[], results: Results): readonly string[] {
  const all = figures.flatMap(({ name }) => Object.values(results.figures[name] ?? {}));
  const small = all.filter(({ size }) => size === "small").length;
  const busy = all.filter(({ busyBefore = 0 }) => busyBefore > quiet).length;
  if (small + busy === 0) return [];
  return [
    `**Provisional**: of ${all.length} measurements ${small} were made at small size, and ${busy} on a machine of which other programs took more than ${percent(quiet)} just before. \`npm run figures -- --full\` on an idle machine makes them again.`,
  ];
}

function flushText(flushes: readonly number[]): string {
  const [least, most] = [Math.min(...flushes), Math.max(...flushes)];
  return least === most ? `${short(least)} ms` : `${short(least)} to ${short(most)} ms`;
}
