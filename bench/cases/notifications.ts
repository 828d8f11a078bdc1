import { type Database, observer, open, table, text } from "percolatordb";
import { WrongResultError } from "../harness/compare.js";
import { rowOf } from "../harness/data.js";
import { cpuSeconds } from "../harness/usage.js";
import { type Bench, type BenchCase, type CaseFigure, figureOf } from "./bench.js";

const dirty = 10;
const cellsOfTransaction = 500;
const sizes = [10_000, 1_000_000] as const;
const quickSizes = [10_000, 100_000] as const;

const inputs = table("inputs", { contents: text() });
const outputs = table("outputs", { contents: text() });

const copy = observer("copy", inputs.contents, (tx, { row, value }) => {
  if (value !== undefined) tx.set(outputs.contents, row, value);
});

/**
 * A process without observers changes ten cells among many. Then a worker starts and must find
 * them. The time is compared with a scan of every cell.
 */
export const notifications: BenchCase = {
  name: "notifications",
  about: `to find ${dirty} dirty cells among few and among many`,
  async run(bench) {
    const { quick, cells } = bench.options;
    const rounds = quick ? 5 : 15;
    const medians: number[] = [];
    const figures: CaseFigure[] = [];
    for (const size of quick ? quickSizes : [...sizes, ...(cells > 1_000_000 ? [cells] : [])]) {
      const { finding, processor, looking } = await measure(bench, size, rounds);
      const among = `among ${size.toLocaleString("en")}`;
      const found = figureOf(`${dirty} found and handled, ${among}`, "ms", finding);
      medians.push(found.value);
      figures.push(
        found,
        figureOf(`CPU time of that, ${among}`, "ms", processor),
        figureOf(`every cell scanned, ${among}`, "ms", looking),
      );
    }
    const factor = medians.at(-1)! / medians[0]!;
    figures.push({
      name: "time among the most cells, divided by that among the fewest",
      unit: "times",
      value: factor,
      ceiling: 2,
    });
    return { comparisons: [], figures };
  },
};

async function measure(bench: Bench, size: number, rounds: number) {
  const folder = bench.newFolder(`notifications-${size}`);
  await fill(bench, folder, size);
  // Registers the observer, but runs it only on request.
  await using db = await open(folder, { tables: [inputs, outputs], observers: [copy], collectEveryMs: 0 });
  const finding: number[] = [];
  const processor: number[] = [];
  const looking: number[] = [];
  for (let round = 0; round < rounds + 2; round++) {
    bench.say(`${size} cells, ${round + 1} of ${rounds + 2}`);
    const rows = Array.from({ length: dirty }, (_, index) => rowOf(spread(index, round, size)));
    await db.transact(async (tx) => {
      for (const row of rows) tx.set(inputs.contents, row, `round ${round}`);
    });
    const [began, cpu] = [performance.now(), process.cpuUsage()];
    await db.drain();
    const took = performance.now() - began;
    const used = cpuSeconds(cpu);
    await verify(db, rows, `round ${round}`);
    const scanned = round % 5 === 0 ? await look(db) : undefined;
    if (round < 2) continue;
    finding.push(took);
    processor.push(used * 1_000);
    if (scanned !== undefined) looking.push(scanned);
  }
  return { finding, processor, looking };
}

/** Fills the table before the observer is registered. */
async function fill(bench: Bench, folder: string, size: number): Promise<void> {
  await using db = await open(folder, { tables: [inputs, outputs], collectEveryMs: 0 });
  for (let first = 0; first < size; first += cellsOfTransaction) {
    await db.transact(async (tx) => {
      for (let index = first; index < Math.min(size, first + cellsOfTransaction); index++)
        tx.set(inputs.contents, rowOf(index), "as it was");
    });
    if (first % 100_000 === 0) bench.say(`${first} of ${size} cells are there`);
  }
}

/**
 * Returns the number of a row to change. The rows of one round are far apart, and successive rounds
 * change different rows.
 */
function spread(index: number, round: number, size: number): number {
  return Math.floor(((index + (round % 97) / 100) / dirty) * size);
}

async function verify(db: Database, rows: readonly string[], expected: string): Promise<void> {
  await using snapshot = await db.snapshot();
  const found = await snapshot.getMany(outputs.contents, rows);
  if (found.some((value) => value !== expected))
    throw new WrongResultError("A dirty cell was not found by the worker.");
}

async function look(db: Database): Promise<number> {
  const began = performance.now();
  await using snapshot = await db.snapshot();
  let cells = 0;
  for await (const _ of snapshot.scan(inputs.contents)) cells++;
  if (cells === 0) throw new WrongResultError("There are no cells.");
  return performance.now() - began;
}
