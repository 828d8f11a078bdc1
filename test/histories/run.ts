import { join } from "node:path";
import type { Isolation } from "percolatordb";
import { makePlace, type Place, type StoreName } from "../cluster/places.js";
import { Random } from "../crash/random.js";
import { temporaryFolder } from "../support/databases.js";
import { ProgramProcess } from "../support/program-process.js";
import type { NetworkProxy } from "../support/proxy/index.js";
import { pause } from "../support/waiting.js";
import type { ChildOrders } from "./child-orders.js";
import { drawFaults, type Fault, strike } from "./faults.js";
import { readJournal } from "./journal.js";
import { type Life, merge } from "./merge.js";
import type { Operation, Workload } from "./operations.js";

export interface RunOptions {
  readonly store: StoreName;
  /** `mixed`: the processes alternate between one-phase and two-phase commits. */
  readonly commit: "auto" | "two-phase" | "mixed";
  readonly isolation: Isolation;
  /** Each workload has a separate history. */
  readonly workloads: readonly Workload[];
  readonly processes: number;
  /** The number of logical clients of each process. */
  readonly clients: number;
  readonly seconds: number;
  readonly kills: number;
  readonly stops: number;
  readonly cuts: number;
  /** Immediate stops of PostgreSQL's server, each with a restart. */
  readonly crashes: number;
  /** The most transactions a second that all processes begin together. */
  readonly rate: number;
  readonly seed: string;
  readonly onFault?: ((fault: Fault, elapsedMs: number) => void) | undefined;
}

/** More elements than a process writes in a run. */
const elementsOfLife = 1_000_000;

/** A process of a run, and its connection to the database. */
export interface Runner {
  readonly slot: number;
  readonly process: ProgramProcess;
  readonly network: NetworkProxy | undefined;
  readonly journal: string;
}

/** The result of a run. */
export interface PlayedRun {
  /** The history of each workload. */
  readonly histories: ReadonlyMap<Workload, readonly Operation[]>;
  /** Errors found at the end in the observers' derived data and in the store. */
  readonly problems: readonly string[];
}

/** Runs processes on one database with faults. */
export async function playHistory(options: RunOptions): Promise<PlayedRun> {
  await using place = await makePlace(options.store);
  const folder = await temporaryFolder();
  const run = new HistoryRun(options, place, folder.path);
  try {
    const problems = await run.play();
    return { histories: run.histories(), problems };
  } finally {
    await run.end();
    await folder.remove();
  }
}

export class HistoryRun {
  readonly place: Place;
  readonly runners: Runner[] = [];
  readonly #options: RunOptions;
  readonly #folder: string;
  readonly #originNs = process.hrtime.bigint();
  readonly #lives: (Omit<Life, "endedAt"> & { endedAt: number })[] = [];
  readonly #journals: string[] = [];
  /** Started in advance, so that a killed process has a successor at once. */
  #spare: ProgramProcess | undefined;

  constructor(options: RunOptions, place: Place, folder: string) {
    this.#options = options;
    this.place = place;
    this.#folder = folder;
  }

  /** Returns the errors found at the end. */
  async play(): Promise<readonly string[]> {
    const { processes, seconds, seed, store, onFault } = this.#options;
    await Promise.all(Array.from({ length: processes }, (_, slot) => this.#start(slot)));
    if (this.#options.kills > 0) this.#spare = new ProgramProcess("test/histories/child.ts");
    const random = new Random(seed);
    const faults = drawFaults(this.#options, store === "bigtable", random);
    const beganMs = performance.now();
    for (const [at, fault] of faults.entries()) {
      // The time is divided into as many parts as there are faults. Each part has one fault, at a
      // random moment.
      const dueMs = ((at + random.next()) / faults.length) * seconds * 1_000;
      await pause(Math.max(0, beganMs + dueMs - performance.now()));
      onFault?.(fault, performance.now() - beganMs);
      await strike(this, fault);
      await this.#replace();
    }
    await pause(Math.max(0, beganMs + seconds * 1_000 - performance.now()));
    await Promise.all(this.runners.map(({ process }) => tell(process, "rest")));
    const reader = this.runners[0]!.process;
    await tell(reader, "read");
    await tell(reader, "check");
    const problem = "problem ";
    const problems = reader.lines.filter((line) => line.startsWith(problem));
    for (const { process, slot } of this.runners) {
      await process.terminate();
      this.#endLife(slot);
    }
    return problems.map((line) => line.slice(problem.length));
  }

  histories(): ReadonlyMap<Workload, readonly Operation[]> {
    const { clients, workloads } = this.#options;
    const lives = this.#lives.map((life, at) => ({ ...life, entries: readJournal(this.#journals[at]!) }));
    return new Map(
      workloads.map((workload, which) => {
        const own = lives.map((life) => ({
          ...life,
          entries: life.entries.filter(({ client }) => client % workloads.length === which),
        }));
        return [workload, merge(own, clients)];
      }),
    );
  }

  async end(): Promise<void> {
    for (const { process } of this.runners) await process.kill();
    await this.#spare?.kill();
  }

  async #start(slot: number): Promise<void> {
    const { place } = this;
    const { commit, isolation, workloads, clients, rate, processes, seed } = this.#options;
    const { connection, network } = await place.connect();
    const life = this.#lives.length;
    const journal = join(this.#folder, `journal-${life}`);
    this.#lives.push({ slot, endedAt: 0, entries: [] });
    this.#journals.push(journal);
    const orders: ChildOrders = {
      connection,
      commit: commit === "mixed" ? (slot % 2 === 0 ? "auto" : "two-phase") : commit,
      isolation,
      workloads,
      journal,
      originNs: String(this.#originNs),
      clients,
      rate: rate / processes,
      seed: `${seed}:${life}`,
      elementsFrom: life * elementsOfLife,
    };
    const process = this.#spare ?? new ProgramProcess("test/histories/child.ts");
    this.#spare = undefined;
    this.runners[slot] = { slot, process, network, journal };
    process.tell(JSON.stringify(orders));
    await process.said((line) => line === "started");
  }

  /** Starts successors of killed processes. Throws if one has ended by itself. */
  async #replace(): Promise<void> {
    for (const { slot, process, network } of [...this.runners]) {
      if (!process.hasEnded) continue;
      if (process.end !== "SIGKILL")
        throw new Error(`A process ended with ${process.end}: ${process.errors}`);
      this.#endLife(slot);
      await network?.close();
      await this.#start(slot);
      this.#spare = new ProgramProcess("test/histories/child.ts");
    }
    await this.place.replaceCoordinators?.();
  }

  #endLife(slot: number): void {
    const life = this.#lives.findLast((each) => each.slot === slot)!;
    life.endedAt = Number(process.hrtime.bigint() - this.#originNs);
  }
}

async function tell(process: ProgramProcess, order: "rest" | "read" | "check"): Promise<void> {
  process.tell(order);
  await process.said((line) => line === `done ${order}`);
}
