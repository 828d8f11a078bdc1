/**
 * Runs small programs with the packed package on several JavaScript runtimes, all of which come
 * from the npm registry: `npm run runtimes -- [--only TEXT] [--write]`. Prints a table, and writes
 * it into docs/runtimes.md with `--write`. Ends with an error if anything fails.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startPostgres } from "../../examples/support/postgres-server.js";
import { Packed } from "../package/packed.js";
import { startEmulator } from "../support/emulator/index.js";
import { placeAt } from "../support/postgres/index.js";
import { Battery, type Outcome, programs } from "./battery.js";
import { type RuntimeRow, writeTable } from "./page.js";
import { installRuntimes } from "./runtimes.js";

const { values } = parseArgs({
  options: { only: { type: "string" }, write: { type: "boolean", default: false } },
});
const say = (line: string) => process.stdout.write(`${line}\n`);

const folder = await mkdtemp(join(tmpdir(), "percolatordb-runtimes-"));
const packed = await Packed.create();
const postgres = await startPostgres();
try {
  await using emulator = await startEmulator();
  const battery = await Battery.create(packed, {
    emulator: emulator.host,
    postgres: placeAt(postgres.host, "runtimes").location,
  });
  const rows: RuntimeRow[] = [];
  for await (const runtime of installRuntimes(folder, values.only)) {
    const outcomes: Outcome[] = [];
    for (const program of programs) {
      const outcome = await battery.run(runtime, program);
      outcomes.push(outcome);
      say(
        `${runtime.name}, ${program.shows}: ${outcome.word}${outcome.output === "" ? "" : `\n${outcome.output}`}`,
      );
      if (outcome.word === "failed") process.exitCode = 1;
    }
    rows.push({ runtime: runtime.name, outcomes });
  }
  if (rows.length === 0) throw new Error(`No runtime's name contains "${values.only}".`);
  await writeTable(rows, { print: say, toPage: values.write });
} finally {
  await postgres.stop();
  await packed.remove();
  await rm(folder, { recursive: true, force: true });
}
