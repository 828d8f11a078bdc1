import { systemEnvironment } from "../../environment/index.js";
import type { RowMutation, RowStore } from "../../store/index.js";
import type { StoreWatcher } from "../world/index.js";
import { Cells } from "./cells.js";
import { Collections } from "./collection.js";
import { RegistrationGrace } from "./grace.js";
import { Hints } from "./hints.js";
import { Loads } from "./loads.js";
import { Observed } from "./observed.js";
import { type AnsweredRead, Reads } from "./reads.js";
import { RegistryModel } from "./registry-model.js";
import { type AtRestOptions, checkAtRest } from "./rest.js";
import { Step } from "./step.js";
import { StoreModel } from "./store-model.js";
import { ownTables, putOf, storedVersions } from "./stored-versions.js";
import { Timestamps } from "./timestamps.js";
import { Transactions } from "./transactions.js";
import { type Violation, ViolationReporter } from "./violation.js";

/** The options of a {@link ProtocolWatcher}. */
export interface ProtocolWatcherOptions {
  /**
   * The store itself. It must answer reads synchronously. Only `adopt()` and `atRest()` read it.
   */
  readonly store: RowStore;
  /** Called once for each violation, when the watcher sees it. */
  readonly onViolation: (violation: Violation) => void;
  /**
   * How long clients may use a cached registry, in milliseconds. For up to twice that time after an
   * observer's registration, changes may lack its hint. Default: 0 on a store with atomic batches,
   * else 1,000.
   */
  readonly registryCacheMs?: number | undefined;
  /**
   * Returns the time that has passed for all clients, in milliseconds. Default: the machine's
   * monotonic clock.
   */
  readonly now?: (() => number) | undefined;
}

/**
 * Checks the invariants of protocol §8.1 after each change of a store. It applies the changes to a
 * model that holds both the store's contents and every committed version, including those whose
 * write record does not exist yet. It checks only the cells that a change touched. Start it on an
 * empty store, or call {@link adopt} first.
 */
export class ProtocolWatcher implements StoreWatcher {
  readonly #store: RowStore;
  readonly #reporter: ViolationReporter;
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
  readonly #loads: Loads;
  readonly #step = new Step();

  constructor({ store, onViolation, registryCacheMs, now }: ProtocolWatcherOptions) {
    this.#store = store;
    const reporter = new ViolationReporter((violation) => {
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
    this.#loads = new Loads({ reporter, model: this.#model, singleRows: !atomicBatches });
    this.#collections = new Collections(reporter, this.#model, this.#registry, this.#observed);
  }

  /**
   * Adopts the contents of the store, which it takes as correct. Call it before the first change.
   *
   * @param tables Tables to adopt besides those that the registry names.
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
      for (const version of storedVersions(this.#store, table)) this.#model.apply([putOf(version)], step);
    }
    this.#transactions.adopt(step);
    this.#registry.update(step);
    this.#loads.adopt(step, this.#registry.view);
    this.#observed.adopt(step);
    this.#grace.adopt(this.#registry.view);
  }

  /** Checks the effect of a mutation or a batch. */
  applied(rows: readonly RowMutation[], commit: number | undefined): void {
    const step = this.#step;
    step.clear(commit);
    this.#grace.passTime();
    this.#model.apply(rows, step);
    if (step.isIdle) return;
    this.#transactions.settle(step);
    const { edition } = this.#registry;
    const isRegistryNew = this.#registry.update(step);
    this.#loads.update(step, this.#registry.view, this.#registry.edition !== edition);
    this.#cells.check(step);
    this.#reads.check(step);
    this.#collections.checkMarkers(step);
    this.#observed.update(step);
    if (isRegistryNew) this.#grace.begin(this.#registry.view);
    this.#hints.check(step, isRegistryNew);
    this.#collections.check(step);
  }

  /** Records that a transaction saw a cell. */
  read(read: AnsweredRead): void {
    this.#reads.read(read);
  }

  /**
   * Records the outcome that a client received for a two-phase transaction that wrote at least one
   * cell.
   */
  told(start: number, outcome: "committed" | "not-written", commit?: number): void {
    this.#transactions.told(start, outcome, commit);
  }

  /** The greatest timestamp issued so far, for {@link timestamp}. */
  get newestTimestamp(): number {
    return this.#timestamps.newest;
  }

  /**
   * Records an answer of the oracle. `askedAfter` is the value of {@link newestTimestamp} at the
   * time of the request.
   */
  timestamp(askedAfter: number, value: number): void {
    this.#grace.passTime();
    this.#timestamps.answered(askedAfter, value);
  }

  /** Checks the whole store when nothing is in progress. Returns all violations seen so far. */
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
