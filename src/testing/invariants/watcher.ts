import { systemEnvironment } from "../../environment/index.js";
import type { RowMutation, RowStore } from "../../store/index.js";
import type { StoreWatcher } from "../world/index.js";
import { Cells } from "./cells.js";
import { Collections } from "./collection.js";
import { RegistrationGrace } from "./grace.js";
import { Hints } from "./hints.js";
import { Observed } from "./observed.js";
import { type AnsweredRead, Reads } from "./reads.js";
import { RegistryModel } from "./registry-model.js";
import { type AtRestOptions, checkAtRest } from "./rest.js";
import { ownTables, putOf, standingVersions } from "./standing.js";
import { Step } from "./step.js";
import { StoreModel } from "./store-model.js";
import { Timestamps } from "./timestamps.js";
import { Transactions } from "./transactions.js";
import { Reporter, type Violation } from "./violation.js";

/** What a {@link ProtocolWatcher} takes. */
export interface ProtocolWatcherOptions {
  /** The store itself, which answers reads at once; read by `adopt()` and `atRest()` only. */
  readonly store: RowStore;
  /** Told of each violation when it is seen, once. */
  readonly onViolation: (violation: Violation) => void;
  /**
   * How long clients may use an old copy of the registry, in milliseconds: changes up to twice that time after an
   * observer's registration may lack its hint. Default: 0 on a store with atomic batches, else 1,000.
   */
  readonly registryCacheMs?: number | undefined;
  /** The time that has passed for all clients, in milliseconds. Default: the machine's. */
  readonly now?: (() => number) | undefined;
}

/**
 * Checks the invariants of protocol §8.1 after each change of a store. It follows the changes in a model of its own: of what
 * stands, and of what is true, which is what has passed its commit point. Only the cells that a change touched
 * are looked at. Start it on an empty store, or call {@link adopt} first.
 */
export class ProtocolWatcher implements StoreWatcher {
  readonly #store: RowStore;
  readonly #reporter: Reporter;
  readonly #seen: Violation[] = [];
  readonly #model = new StoreModel();
  readonly #registry = new RegistryModel();
  readonly #timestamps: Timestamps;
  readonly #transactions: Transactions;
  readonly #cells: Cells;
  readonly #reads: Reads;
  readonly #observed: Observed;
  readonly #grace: RegistrationGrace;
  readonly #hints: Hints;
  readonly #collections: Collections;
  readonly #step = new Step();

  constructor({ store, onViolation, registryCacheMs, now }: ProtocolWatcherOptions) {
    this.#store = store;
    const reporter = new Reporter((violation) => {
      this.#seen.push(violation);
      onViolation(violation);
    });
    const { atomicBatches } = store.capabilities;
    const cacheMs = registryCacheMs ?? (atomicBatches ? 0 : 1_000);
    this.#reporter = reporter;
    this.#timestamps = new Timestamps(reporter);
    this.#transactions = new Transactions(reporter);
    this.#cells = new Cells(reporter);
    this.#reads = new Reads(reporter, this.#model);
    this.#observed = new Observed(reporter, this.#model);
    this.#grace = new RegistrationGrace({
      graceMs: 2 * cacheMs,
      now: now ?? (() => systemEnvironment.monotonic()),
      newestTimestamp: () => this.#timestamps.newest,
    });
    this.#hints = new Hints({
      reporter,
      model: this.#model,
      registry: this.#registry,
      transactions: this.#transactions,
      observed: this.#observed,
      grace: this.#grace,
      singleRows: !atomicBatches,
    });
    this.#collections = new Collections(reporter, this.#model, this.#registry, this.#observed);
  }

  /**
   * Takes up what stands in the store, which counts as sound. To be called before anything is watched.
   *
   * @param tables Tables to take up besides those that the registry names.
   */
  adopt(tables: readonly string[] = []): void {
    this.#step.clear(undefined);
    const taken = new Set<string>();
    this.#adopt([...ownTables, ...tables], taken);
    this.#adopt([...this.#registry.view.tables.keys()], taken);
  }

  #adopt(tables: readonly string[], taken: Set<string>): void {
    const step = this.#step;
    for (const table of tables) {
      if (taken.has(table)) continue;
      taken.add(table);
      for (const version of standingVersions(this.#store, table)) this.#model.apply([putOf(version)], step);
    }
    this.#transactions.adopt(step);
    this.#observed.adopt(step);
    this.#registry.update(step);
    this.#grace.adopt(this.#registry.view);
  }

  /** Checks what a mutation or a batch has done. */
  applied(rows: readonly RowMutation[], commit: number | undefined): void {
    const step = this.#step;
    step.clear(commit);
    this.#grace.passTime();
    this.#model.apply(rows, step);
    if (step.isIdle) return;
    this.#transactions.settle(step);
    this.#cells.check(step);
    this.#reads.check(step);
    this.#collections.checkMarkers(step);
    this.#observed.update(step);
    const isRegistryNew = this.#registry.update(step);
    if (isRegistryNew) this.#grace.begin(this.#registry.view);
    this.#hints.check(step, isRegistryNew);
    this.#collections.check(step);
  }

  /** A transaction was shown a cell. */
  read(read: AnsweredRead): void {
    this.#reads.read(read);
  }

  /** A client was told what became of a two-phase transaction that wrote at least one cell. */
  told(start: number, outcome: "committed" | "not-written", commit?: number): void {
    this.#transactions.told(start, outcome, commit);
  }

  /** The greatest timestamp that was answered so far: for {@link timestamp}. */
  get newestTimestamp(): number {
    return this.#timestamps.newest;
  }

  /** The oracle answered a request. `askedAfter`: what {@link newestTimestamp} was when it was made. */
  timestamp(askedAfter: number, value: number): void {
    this.#grace.passTime();
    this.#timestamps.answered(askedAfter, value);
  }

  /** Checks the whole store when nothing is under way any more. Answers all violations that were ever seen. */
  atRest(options: AtRestOptions = {}): readonly Violation[] {
    const parts = {
      store: this.#store,
      model: this.#model,
      registry: this.#registry,
      cells: this.#cells,
      hints: this.#hints,
      collections: this.#collections,
    };
    checkAtRest(parts, this.#reporter, options);
    return this.#seen;
  }
}
