/**
 * A brokerage over one process and several, as in figure 9 of the paper: `npm run brokerage --
 * --help`.
 */
import { open } from "percolatordb";
import { type Child, withChildren } from "../harness/child.js";
import { describeScaled, isRight, maxWrong, overProcesses, timed } from "../harness/processes.js";
import {
  atLeast,
  type CommonOptions,
  oneOf,
  repeated,
  runProgram,
  whole,
  withEmulator,
  withFolder,
} from "../harness/program.js";
import { sumOf } from "../harness/requests.js";
import { settings } from "../postgres/schema.js";
import { locationOn, postmasterOf, withServer } from "../postgres/server.js";
import { audit } from "./audit.js";
import { type BrokerageResult, describeBrokerage, type TradingRound } from "./figure.js";
import { seed } from "./market.js";
import type { Progress } from "./pace.js";
import type { Done, Opening } from "./process.js";
import { observers, tables } from "./tables.js";

interface Options extends CommonOptions {
  readonly processes: number;
  readonly rounds: number;
  readonly transactions?: number;
  readonly ahead: number;
  readonly clients: number;
  readonly concurrency: number;
  readonly store: StoreName;
  readonly wait: number;
  readonly node: readonly string[];
}

type StoreName = "lmdb" | "postgres" | "bigtable";
const defaultTransactions: Readonly<Record<StoreName, number>> = {
  lmdb: 60_000,
  postgres: 20_000,
  bigtable: 3_000,
};
/** The share of transactions before the measurement, which compile code and fill caches. */
const warmUpPart = 0.2;
const tellMs = 10;

await runProgram<Options, BrokerageResult>({
  name: "brokerage",
  about:
    "Customers who trade through brokers, over one process and several: the same transactions each time, timed until the last " +
    "order is settled and nothing is due. Every cent is audited afterwards.",
  examples: [
    "brokerage",
    "brokerage -- --rounds 5 --transactions 100000 --json brokerage.json",
    "brokerage -- --processes 1 --rounds 1 --node=--cpu-prof",
    "brokerage -- --store postgres",
    "brokerage -- --store bigtable",
  ],
  wrongIf: "an order is lost, or money, securities or prices do not add up",
  define: (command) =>
    command
      .option("--processes <number>", "measure with 1 to this many", whole, 2)
      .option("--rounds <number>", "rounds, each with every number of processes", whole, 3)
      .option(
        "--transactions <number>",
        `of customers and the market, in all (default: ${defaultTransactions.lmdb}, ${defaultTransactions.postgres} on postgres, ${defaultTransactions.bigtable} on bigtable)`,
        whole,
      )
      .option("--ahead <number>", "orders that may wait to be settled, over all processes", whole, 500)
      .option("--clients <number>", "customers at a time, over all processes", whole, 64)
      .option("--concurrency <number>", "runs of observers at a time, in each process", whole, 32)
      .option(
        "--store <name>",
        "lmdb; or postgres: a server in a temporary folder; or bigtable: the emulator",
        oneOf(["lmdb", "postgres", "bigtable"]),
        "lmdb",
      )
      .option("--wait <seconds>", "wait before each round until the machine is quiet, at most", atLeast(0), 0)
      .option("--node <flag>", "a flag of Node for the processes; may be repeated", repeated(String), []),
  measure: (options) => withStore(options, (place, servers) => measureAll(options, place, servers)),
  describe: (result) => [
    ...describeBrokerage(result),
    result.figures.map((figure) => describeScaled("brokerage", figure)).join("\n"),
  ],
  isRight: ({ figures }) => isRight(figures),
});

/** Runs `use` with a place for a new database of each name. */
type Place = <T>(name: string, use: (location: string) => Promise<T>) => Promise<T>;

function withStore<T>(
  { store, data }: Options,
  use: (place: Place, servers: readonly number[]) => Promise<T>,
): Promise<T> {
  switch (store) {
    case "lmdb":
      return use((_, measured) => withFolder("brokerage", measured, data), []);
    case "postgres":
      return withServer(settings, (server) =>
        use((name, measured) => measured(`${locationOn(server)}&schema=${name}`), [postmasterOf(server)]),
      );
    case "bigtable":
      return withEmulator((pid) =>
        use(
          (name, measured) => measured(`bigtable://bench/brokerage?prefix=b${process.pid}${name}`),
          pid === undefined ? [] : [pid],
        ),
      );
  }
}

async function measureAll(
  options: Options,
  place: Place,
  servers: readonly number[],
): Promise<BrokerageResult> {
  const { store, ahead, clients, concurrency, rounds } = options;
  const transactions = options.transactions ?? defaultTransactions[store];
  const figures = await overProcesses(options, (processes, round) =>
    place(`x${processes}x${round}`, (location) =>
      measure(options, transactions, location, processes, servers),
    ),
  );
  return { options: { store, transactions, ahead, clients, concurrency, rounds }, figures };
}

async function measure(
  { clients, concurrency, ahead: maxAhead, node, wait }: Options,
  transactions: number,
  location: string,
  processes: number,
  servers: readonly number[],
): Promise<TradingRound> {
  await using db = await open(location, { tables, observers, collectEveryMs: 0, coordinator: "auto" });
  await seed(db);
  const warmUp = Math.ceil(transactions * warmUpPart);
  const { answers, ...time } = await withChildren(async (start) => {
    const progress: Progress[] = [];
    const children = Array.from({ length: processes }, (_, number) =>
      start(new URL("./process.ts", import.meta.url), "A process of the brokerage", {
        node,
        onTold: (told) => {
          progress[number] = told as Progress;
        },
      }),
    );
    const opening = { location, processes, clients: Math.ceil(clients / processes), concurrency, maxAhead };
    await Promise.all(
      children.map((child, number) => child.ask("open", { ...opening, number } satisfies Opening)),
    );
    const run = async (first: number, count: number) => {
      const telling = setInterval(() => void tellAll(children, progress), tellMs);
      await Promise.all(children.map((child) => child.ask("trade", { first, count }))).finally(() =>
        clearInterval(telling),
      );
      return Promise.all(children.map((child) => child.ask<Done>("finish")));
    };
    await run(0, warmUp);
    return timed(wait, () => run(warmUp, transactions), servers);
  });
  await db.idle();
  const wrong = (await audit(db, warmUp + transactions)).slice(0, maxWrong);
  return { ...time, ...countsOf(answers), wrong };
}

function countsOf(answers: readonly Done[]) {
  const sum = (of: (each: Done) => number) => answers.reduce((total, each) => total + of(each), 0);
  const done = sum(({ customers, runs }) => customers + runs);
  const conflicts = sum((each) => each.conflicts);
  const asked = Object.entries(sumOf(answers.map(({ requests }) => requests))).filter(
    ([, count]) => count > 0,
  );
  return {
    done,
    conflictShare: conflicts / Math.max(1, conflicts + sum((each) => each.commits)),
    requests: Object.fromEntries(asked.map(([kind, count]) => [kind, count / done])),
  };
}

/** Tells each process the joint progress of the others. */
async function tellAll(children: readonly Child[], progress: readonly Progress[]): Promise<void> {
  if (children.length === 1) return;
  const telling = children.map((child, number) => {
    const others = progress.filter((_, index) => index !== number);
    const sum = (key: keyof Progress) => others.reduce((total, each) => total + each[key], 0);
    return child.ask("learn", { orders: sum("orders"), settled: sum("settled") });
  });
  await Promise.all(telling).catch(() => undefined);
}
