import { type Database, type OpenWithHooksOptions, openWithHooks } from "../../../database/index.js";
import { sleep } from "../../../environment/index.js";
import { PercolatorError } from "../../../errors/index.js";
import type { Observer } from "../../../observer/index.js";
import type { Oracle } from "../../../oracle/index.js";
import type { AnyTable } from "../../../schema/index.js";
import type { RowStore } from "../../../store/index.js";
import { type CommitHooks, noHooks } from "../../../transaction/index.js";
import { type ProtocolWatcher, watchOutcomes } from "../../invariants/index.js";
import type { SimulationCounts } from "../plan/counts.js";
import type { Plan } from "../plan/plan.js";
import type { Machine } from "../world/machine.js";
import type { World } from "../world/world.js";
import type { OpenAnotherOptions } from "./client.js";

/** Error codes that a fault, or a faster process, explains. */
const explained: ReadonlySet<string> = new Set([
  "CONFLICT",
  "COMMIT_OUTCOME_UNKNOWN",
  "STALE_SNAPSHOT",
  "STORE",
  "TIMEOUT",
  "ABORTED",
  "CLOSED",
  "NOT_LEADER",
  "ORACLE_UNAVAILABLE",
]);

/** Whether the faults of a run explain an error. */
export function isExplained(error: unknown): boolean {
  return error instanceof PercolatorError && explained.has(error.code);
}

export interface ProcessOptions {
  readonly name: string;
  readonly world: World;
  readonly machine: Machine;
  /** Returns this process's connection to the store. Called once. */
  readonly connect: () => RowStore | Promise<RowStore>;
  /** Undefined if the store assigns timestamps. */
  readonly oracle: Oracle | undefined;
  readonly plan: Plan;
  readonly commit: "auto" | "two-phase";
  readonly tables: readonly AnyTable[];
  readonly observers: readonly Observer[];
  /** The observers that the process runs instead if its own are older than the registered ones. */
  readonly newest: readonly Observer[];
  readonly watcher: ProtocolWatcher;
  readonly counts: SimulationCounts;
  /** Called with each error that no fault explains. */
  readonly fail: (message: string) => void;
}

/** The error code for an observer that is older than the registered version. */
const older = "OBSERVER";
const neverRight: ReadonlySet<unknown> = new Set(["INTERNAL", "STORE_DAMAGED"]);

const openingMs = 50;
const maxOpenings = 50;

/** A process of a run: its machine, and the databases that it has opened. */
export class SimulatedProcess {
  readonly name: string;
  readonly machine: Machine;
  readonly #options: ProcessOptions;
  readonly #opened: Database[] = [];
  #store: RowStore | Promise<RowStore> | undefined;

  constructor(options: ProcessOptions) {
    this.name = options.name;
    this.machine = options.machine;
    this.#options = options;
  }

  /** Opens the database. Tries again as long as faults prevent it. */
  async open(another: OpenAnotherOptions = {}): Promise<Database> {
    const { machine, connect, plan, tables, observers, oracle, commit } = this.#options;
    this.#store ??= connect();
    const store = this.#store instanceof Promise ? await this.#store : this.#store;
    const options: OpenWithHooksOptions = {
      tables: another.tables ?? tables,
      observers: another.observers ?? observers,
      environment: machine,
      oracle,
      commit,
      hooks: this.#hooks(),
      retentionMs: plan.retentionMs,
      lockTtlMs: plan.lockTtlMs,
      collectEveryMs: plan.collectEveryMs,
    };
    for (let attempt = 1; ; attempt++) {
      try {
        const db = await openWithHooks(store, options);
        this.#listen(db);
        this.#opened.push(db);
        return db;
      } catch (error) {
        const isOlder =
          (error as { readonly code?: unknown }).code === older && another.observers === undefined;
        if (isOlder && this.#options.newest !== observers)
          return this.open({ ...another, observers: this.#options.newest });
        if (!isExplained(error) || attempt >= maxOpenings) throw error;
        await sleep(machine, openingMs);
      }
    }
  }

  #hooks(): CommitHooks {
    const { plan, watcher } = this.#options;
    if (!plan.watchesReads) return noHooks;
    return {
      step: noHooks.step,
      read: ({ startTimestamp, cell, commit, value }) =>
        watcher.read({ start: startTimestamp, ...cell, commit, value }),
    };
  }

  #listen(db: Database): void {
    watchOutcomes(this.#options.watcher, db);
    this.#count(db);
    this.#watchFailures(db);
    if (this.#options.world.isTraced) this.#trace(db);
  }

  #count(db: Database): void {
    const { counts } = this.#options;
    db.on("commit", () => counts.commits++);
    db.on("conflict", () => counts.conflicts++);
    db.on("run", ({ outcome }) => {
      if (outcome === "committed") counts.observerRuns++;
      if (outcome === "failed" || outcome === "timeout") counts.observerFailures++;
      if (outcome === "parked") counts.parked++;
    });
    db.on("collect", ({ versionsDropped }) => {
      counts.collections++;
      counts.versionsDropped += versionsDropped;
    });
    db.on("lockResolved", ({ outcome }) => {
      if (outcome === "rolled-forward") counts.rolledForward++;
      if (outcome === "rolled-back") counts.rolledBack++;
      if (outcome === "pushed") counts.pushed++;
      if (outcome === "waited") counts.waited++;
    });
  }

  #watchFailures(db: Database): void {
    const { fail } = this.#options;
    db.on("backgroundFailure", ({ doing, error }) => {
      if (isExplained(error) || (error as { readonly code?: unknown }).code === older) return;
      fail(`${this.name}: ${doing} failed: ${showError(error)}`);
    });
    db.on("run", ({ observer, error }) => {
      if (neverRight.has((error as { readonly code?: unknown } | undefined)?.code))
        fail(`${this.name}: a run of observer ${observer} failed: ${showError(error)}`);
    });
  }

  #trace(db: Database): void {
    const { world } = this.#options;
    db.on("commit", ({ startTimestamp, commitTimestamp, label }) =>
      world.note(
        this.name,
        `${labelled(label)} that started at ${startTimestamp} is committed at ${commitTimestamp}`,
      ),
    );
    db.on("conflict", ({ startTimestamp, label }) =>
      world.note(this.name, `${labelled(label)} that started at ${startTimestamp} has met a conflict`),
    );
    db.on("run", ({ observer, outcome, error }) =>
      world.note(
        this.name,
        `a run of observer ${observer}: ${outcome}${error === undefined ? "" : `, ${String(error)}`}`,
      ),
    );
    db.on("backgroundFailure", ({ doing, error }) =>
      world.note(this.name, `${doing} failed: ${String(error)}`),
    );
  }

  /** Ends everything that runs in it. */
  async close(): Promise<void> {
    for (const db of this.#opened.splice(0)) await db.close();
  }
}

function labelled(label: string | undefined): string {
  return label === undefined ? "the transaction" : `the transaction "${label}"`;
}

/** Formats an error with its origin. */
export function showError(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
