import { parseArgs } from "node:util";
import { type StoreName, stores } from "../cluster/places.js";
import type { Workload } from "./operations.js";
import type { RunOptions } from "./run.js";

/** The options are invalid or contradict each other. */
export class UsageError extends Error {}

export interface Command extends RunOptions {
  /** The folder for the histories. */
  readonly out: string;
  readonly compress: boolean;
  /** Histories to judge instead of a run. */
  readonly files: readonly string[];
}

export const usage = `npm run histories -- [--store lmdb|postgres|bigtable|memory] [--commit auto|two-phase|mixed]
  [--isolation snapshot|serializable] [--workload both|list-append|rw-register] [--processes 3] [--clients 6]
  [--seconds 60] [--kills 6] [--stops 3] [--cuts 6] [--crashes 3] [--rate 300] [--seed TEXT] [--out histories] [--compress]
npm run histories -- [--isolation snapshot|serializable] FILE.edn[.gz]...`;

/** Parses the command line. Throws a {@link UsageError} that says what is possible instead. */
export function parseCommand(args: readonly string[]): Command {
  const { values, positionals } = parse(args);
  const store = oneOf("store", values.store, stores);
  const workload = oneOf("workload", values.workload, ["both", "list-append", "rw-register"] as const);
  const command: Command = {
    store,
    commit: oneOf("commit", values.commit, ["auto", "two-phase", "mixed"] as const),
    isolation: oneOf("isolation", values.isolation, ["snapshot", "serializable"] as const),
    workloads: workload === "both" ? ["list-append", "rw-register"] : [workload satisfies Workload],
    processes: whole("processes", values.processes ?? (store === "memory" ? "1" : "3"), 1),
    clients: whole("clients", values.clients, 1),
    seconds: whole("seconds", values.seconds, 1),
    kills: whole("kills", values.kills ?? (store === "memory" ? "0" : "6")),
    stops: whole("stops", values.stops ?? (store === "memory" ? "0" : "3")),
    cuts: whole("cuts", values.cuts ?? (hasNetwork(store) ? "6" : "0")),
    crashes: whole("crashes", values.crashes ?? (store === "postgres" ? "3" : "0")),
    rate: whole("rate", values.rate, 1),
    seed: values.seed ?? String(Date.now()),
    out: values.out,
    compress: values.compress,
    files: positionals,
  };
  checkStore(command);
  return command;
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        store: { type: "string", default: "lmdb" },
        commit: { type: "string", default: "auto" },
        isolation: { type: "string", default: "snapshot" },
        workload: { type: "string", default: "both" },
        processes: { type: "string" },
        clients: { type: "string", default: "6" },
        seconds: { type: "string", default: "60" },
        kills: { type: "string" },
        stops: { type: "string" },
        cuts: { type: "string" },
        crashes: { type: "string" },
        rate: { type: "string", default: "300" },
        seed: { type: "string" },
        out: { type: "string", default: "histories" },
        compress: { type: "boolean", default: false },
      },
    });
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n${usage}`);
  }
}

/** Refuses options that a store does not support. */
function checkStore(command: Command): void {
  const { store, commit, processes, clients, kills, stops, cuts, crashes, workloads } = command;
  const refuse = (why: string) => {
    throw new UsageError(why);
  };
  if (store === "memory" && (processes > 1 || kills > 0 || stops > 0)) {
    refuse(
      "A store in memory ends with its process: give --processes 1 --kills 0 --stops 0, or another --store.",
    );
  }
  if (!hasNetwork(store) && cuts > 0)
    refuse(`There is no network before ${store}: --cuts goes with postgres and bigtable.`);
  if (store !== "postgres" && crashes > 0)
    refuse(`${store} has no server that could crash: --crashes goes with postgres.`);
  if (store === "bigtable" && commit !== "auto")
    refuse("Bigtable always commits in two phases: leave --commit out.");
  if (clients < workloads.length) refuse("Each workload needs a client: give --clients 2 or more.");
}

function hasNetwork(store: StoreName): boolean {
  return store === "postgres" || store === "bigtable";
}

function oneOf<T extends string>(name: string, value: string, choices: readonly T[]): T {
  if ((choices as readonly string[]).includes(value)) return value as T;
  throw new UsageError(`There is no --${name} ${value} here; there are: ${choices.join(", ")}.`);
}

function whole(name: keyof RunOptions, value: string, least = 0): number {
  const number = Number(value);
  if (Number.isSafeInteger(number) && number >= least) return number;
  throw new UsageError(`--${name} must be a whole number of ${least} or more, not "${value}".`);
}
