import type { Command } from "commander";
import type { Database } from "../../../database/index.js";
import { packageManifest, throwIfAborted } from "../../../environment/index.js";
import { bytes, int, table } from "../../../schema/index.js";
import { loadFor, type Measured, measuredToJson } from "../../bench/load.js";
import type { Cli } from "../../cli.js";
import { databaseCommand, parsedBy } from "../../command.js";
import { withDatabase } from "../../database/open-database.js";
import { addCoordinatorFlags, type CoordinatorFlags } from "../../input/coordinator-flags.js";
import { layOut, layOutPairs, showBytes } from "../../print/layout.js";
import { Progress } from "../../print/progress.js";
import { formatDuration, parseCount, parseDuration } from "../../time.js";

interface BenchOptions extends CoordinatorFlags {
  readonly duration: number;
  readonly concurrency: number;
  readonly rows: number;
  readonly valueBytes: number;
}

/** The only table that the command changes. */
const benchTable = table("percolator_bench", { value: bytes(), count: int() });
const maxRowsAtOnce = 500;
/** Bytes of values in a transaction: well below the most that a transaction may write. */
const bytesAtOnce = 8 * 1024 * 1024;

export function addBench(program: Command, cli: Cli): void {
  const command = databaseCommand(program, "bench", {
    summary: "measure transactions and reads per second on this store",
    description:
      "Loads rows into a table of its own, percolator_bench. Measures reads of one cell, transactions that write one, " +
      "and transactions that read a cell and write two, each for a while. Then removes the rows, also after a signal. " +
      "After a second signal, or if it is killed, they stay until the next bench. It touches no other " +
      "table; the table's name stays recorded. The figures hold for this machine, this store and this moment: compare " +
      "only figures that were measured side by side.",
    examples: [
      "bench ./data",
      "bench ./data --duration 10s --concurrency 1",
      "bench ./data --rows 100000 --value-bytes 1000 --json",
    ],
    json: [
      '{"configuration","results"}: the configuration with "store", "commit", "node", "version" and the options; each result',
      '{"name","operations","seconds","perSecond","p50Ms","p95Ms","p99Ms","maxMs"}.',
    ],
  });
  addCoordinatorFlags(command)
    .option("--duration <duration>", "how long each load runs", parsedBy(parseDuration), 3_000)
    .option("--concurrency <n>", "operations at a time", parsedBy(parseCount(1)), 32)
    .option("--rows <n>", "rows of the table", parsedBy(parseCount(1)), 10_000)
    .option("--value-bytes <n>", "bytes of a value", parsedBy(parseCount(0)), 100)
    .action((location: string, options: BenchOptions) =>
      withDatabase(cli, { location, coordinator: options }, async ({ db }) => {
        const progress = new Progress(cli);
        try {
          await bench(cli, db, options, progress);
        } finally {
          progress.end();
          if (cli.signal.aborted) {
            await cli.note(
              "removing the rows; if the command is ended before that, they stay until the next bench",
            );
          }
          await clear(db, rowsAtOnce(options));
        }
      }),
    );
}

function rowsAtOnce({ valueBytes }: BenchOptions): number {
  return Math.max(1, Math.min(maxRowsAtOnce, Math.floor(bytesAtOnce / Math.max(1, valueBytes))));
}

async function bench(cli: Cli, db: Database, options: BenchOptions, progress: Progress): Promise<void> {
  const { store, commit } = await db.status();
  const { duration, concurrency, rows, valueBytes } = options;
  const node = process.versions.node;
  const { version } = packageManifest();
  const configuration = { store, commit, node, version, durationMs: duration, concurrency, rows, valueBytes };
  const results: Measured[] = [await fill(cli, db, options, progress)];
  for (const [name, run] of loads(cli, db, options)) {
    progress.show(() => `measuring ${name} for ${formatDuration(duration)}`);
    results.push(await loadFor(cli, name, duration, concurrency, run));
  }
  progress.end();
  await cli.print({ configuration, results: results.map(measuredToJson) }, () => [
    ...layOutPairs([
      ["store", `${store}, commits in ${commit}`],
      ["package", `percolatordb ${version}, Node ${node}`],
      [
        "load",
        `${rows} rows of ${showBytes(valueBytes)}, ${concurrency} at a time, ${formatDuration(duration)} each`,
      ],
    ]),
    "",
    ...resultLines(results),
  ]);
}

function loads(
  cli: Cli,
  db: Database,
  { rows, valueBytes }: BenchOptions,
): readonly (readonly [string, () => Promise<unknown>])[] {
  const { environment, signal } = cli;
  const anyRow = () => rowName(Math.floor(environment.random() * rows));
  const value = new Uint8Array(valueBytes);
  const label = "percolator bench";
  const { value: cell, count } = benchTable;
  return [
    ["read a cell", () => db.transact((tx) => tx.get(cell, anyRow()), { label, signal })],
    ["write a cell", () => db.transact((tx) => tx.set(cell, anyRow(), value), { label, signal })],
    [
      "read one, write two",
      () =>
        db.transact(
          async (tx) => {
            const row = anyRow();
            tx.set(count, row, ((await tx.get(count, row)) ?? 0) + 1);
            tx.set(cell, anyRow(), value);
          },
          { label, signal },
        ),
    ],
  ];
}

/** Writes the rows, many in each transaction. */
async function fill(cli: Cli, db: Database, options: BenchOptions, progress: Progress): Promise<Measured> {
  const { rows, valueBytes } = options;
  const atOnce = rowsAtOnce(options);
  const value = new Uint8Array(valueBytes);
  let next = 0;
  const batch = async () => {
    const from = next;
    next += atOnce;
    await db.transact(
      (tx) => {
        for (let row = from; row < Math.min(rows, from + atOnce); row++)
          tx.set(benchTable.value, rowName(row), value);
      },
      { label: "percolator bench", signal: cli.signal },
    );
    progress.show(() => `loading: ${Math.min(next, rows)} of ${rows} rows`);
  };
  const startedAt = cli.environment.monotonic();
  while (next < rows) await batch();
  const seconds = (cli.environment.monotonic() - startedAt) / 1_000;
  throwIfAborted(cli.signal, "The measurement");
  return { name: `load, ${atOnce} rows at once`, operations: rows, seconds, quantiles: undefined };
}

/** Removes all rows of the table, including those of an interrupted measurement. */
async function clear(db: Database, limit: number): Promise<void> {
  // Continues behind the last row, because a scan from the beginning passes all that were removed.
  let after: string | undefined;
  do {
    after = await db.transact(async (tx) => {
      let last: string | undefined;
      for await (const { row } of tx.scan(benchTable, { limit, after })) {
        await tx.deleteRow(benchTable, row);
        last = row;
      }
      return last;
    });
  } while (after !== undefined);
}

function rowName(index: number): string {
  return `row ${String(index).padStart(9, "0")}`;
}

function resultLines(results: readonly Measured[]): readonly string[] {
  const figure = (name: string) => ({ name, align: "right" }) as const;
  const columns = [
    { name: "what" },
    figure("per second"),
    figure("p50 ms"),
    figure("p95 ms"),
    figure("p99 ms"),
    figure("max ms"),
  ];
  return layOut(
    columns,
    results.map((measured) => {
      const { name, perSecond, p50Ms, p95Ms, p99Ms, maxMs } = measuredToJson(measured);
      return [
        name,
        String(perSecond),
        ...[p50Ms, p95Ms, p99Ms, maxMs].map((ms) => (ms === null ? "" : ms.toFixed(3))),
      ];
    }),
  );
}
