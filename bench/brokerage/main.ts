/** A brokerage over one process and several, as in figure 9 of the paper. See `npm run brokerage -- --help`. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { CommanderError } from "commander";
import { open } from "percolatordb";
import { type Emulator, startEmulator } from "../../test/support/emulator/index.js";
import { Others, untilQuiet } from "../scaling/others.js";
import { audit } from "./audit.js";
import { Child } from "./child.js";
import { seed } from "./market.js";
import { type BrokerageOptions, parseOptions } from "./options.js";
import {
  type BrokerageReport,
  describeFigure,
  describeRound,
  figureOf,
  isRight,
  type Round,
  roundOf,
  type Timed,
} from "./report.js";
import { observers, tables } from "./tables.js";

/** Before the measurement, so many as a part of what is measured: until the code is compiled, and the caches are warm. */
const warmUpPart = 0.2;
const tellMs = 10;

const say = (line: string) => process.stdout.write(`${line}\n`);

async function main(args: readonly string[]): Promise<number> {
  const options = parseOptions(args);
  let emulator: Emulator | undefined;
  if (options.store === "bigtable" && process.env.BIGTABLE_EMULATOR_HOST === undefined) {
    emulator = await startEmulator();
    process.env.BIGTABLE_EMULATOR_HOST = emulator.host;
  }
  try {
    return await measureAll(options);
  } finally {
    await emulator?.stop();
  }
}

async function measureAll(options: BrokerageOptions): Promise<number> {
  const rounds: Round[][] = Array.from({ length: options.processes }, () => []);
  for (let round = 1; round <= options.rounds; round++) {
    for (const [index, those] of rounds.entries()) {
      const measured = await measure(options, index + 1, round);
      those.push(measured);
      say(describeRound(index + 1, measured));
    }
  }
  const figures = rounds.map((those, index) => figureOf(index + 1, those, rounds[0]!));
  for (const figure of figures) say(describeFigure(figure));
  const { store, transactions, ahead, clients, concurrency } = options;
  const report: BrokerageReport = {
    options: { store, transactions, ahead, clients, concurrency, rounds: options.rounds },
    cpus: cpus().length,
    figures,
  };
  if (options.json !== undefined) {
    mkdirSync(dirname(options.json), { recursive: true });
    writeFileSync(options.json, `${JSON.stringify(report, undefined, 2)}\n`);
  }
  return isRight(rounds.flat()) ? 0 : 1;
}

async function measure(options: BrokerageOptions, processes: number, round: number): Promise<Round> {
  const folder = mkdtempSync(join(options.data ?? tmpdir(), "percolatordb-brokerage-"));
  const location =
    options.store === "lmdb"
      ? folder
      : `bigtable://bench/brokerage?prefix=b${process.pid}x${processes}x${round}`;
  try {
    await using db = await open(location, { tables, observers, collectEveryMs: 0, coordinator: "auto" });
    await seed(db);
    const { clients, concurrency, ahead: maxAhead, transactions, node } = options;
    const share = Math.ceil(clients / processes);
    const children = Array.from(
      { length: processes },
      (_, number) => new Child({ location, number, processes, clients: share, concurrency, maxAhead, node }),
    );
    try {
      await Promise.all(children.map(({ ready }) => ready));
      const warmUp = Math.ceil(transactions * warmUpPart);
      await run(children, 0, warmUp);
      await untilQuiet(options.wait);
      const timed = await run(children, warmUp, transactions);
      await Promise.all(children.map((child) => child.end()));
      await db.idle();
      return roundOf(timed, await audit(db, warmUp + transactions));
    } finally {
      for (const child of children) child.kill();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Has the transactions done, and all that they cause. */
async function run(children: readonly Child[], first: number, count: number): Promise<Timed> {
  const telling = setInterval(() => tellAll(children), tellMs);
  try {
    const others = new Others();
    const before = cpuSeconds();
    const began = performance.now();
    await Promise.all(children.map((child) => child.place(first, count)));
    const done = await Promise.all(children.map((child) => child.finish()));
    const seconds = (performance.now() - began) / 1_000;
    const own = done.reduce(
      (sum, { use }) => sum + use.userSeconds + use.systemSeconds,
      cpuSeconds() - before,
    );
    return { seconds, done, othersShare: others.share(own) };
  } finally {
    clearInterval(telling);
  }
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** Tells each process how far the others are. */
function tellAll(children: readonly Child[]): void {
  if (children.length === 1) return;
  const sum = (of: readonly Child[], key: "orders" | "settled") =>
    of.reduce((total, { progress }) => total + progress[key], 0);
  for (const child of children) {
    const others = children.filter((each) => each !== child);
    child.tell({ orders: sum(others, "orders"), settled: sum(others, "settled") });
  }
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? 0 : 2;
}
