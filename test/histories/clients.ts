import { PercolatorError } from "percolatordb";
import type { RecordedDatabase } from "percolatordb/testing";
import { Random } from "../crash/random.js";
import { pause } from "../support/waiting.js";
import type { ClientOrders } from "./child-orders.js";
import type { Journal } from "./journal.js";
import type { Micro, Workload } from "./operations.js";
import { drawTransaction, keysUntil, perform, readSnapshot } from "./transactions.js";

/** Much shorter than a run, so that a client that is cut off continues with another transaction. */
const timeoutMs = 5_000;
const keysOfLastRead = 20;

/** The logical clients of one process. */
export class Clients {
  readonly #db: Pick<RecordedDatabase, "transact" | "snapshot">;
  readonly #journal: Journal;
  readonly #orders: ClientOrders;
  #elements = 0;

  constructor(db: Pick<RecordedDatabase, "transact" | "snapshot">, journal: Journal, orders: ClientOrders) {
    this.#db = db;
    this.#journal = journal;
    this.#orders = orders;
  }

  /** Runs transactions until `isOver`, then waits for the running ones. */
  async run(isOver: () => boolean): Promise<void> {
    const { clients, rate, seed } = this.#orders;
    const pauseMs = (2_000 * clients) / rate;
    const run = async (client: number) => {
      const random = new Random(`${seed}:${client}`);
      const workload = this.#workloadOf(client);
      for (;;) {
        await pause(random.next() * pauseMs);
        if (isOver()) return;
        const element = () => this.#orders.elementsFrom + ++this.#elements;
        const micros = drawTransaction(workload, this.#journal.elapsedMs, random, element);
        await this.#attempt(client, micros, random);
      }
    };
    await Promise.all(Array.from({ length: clients }, (_, client) => run(client)));
  }

  /**
   * Reads every key that was ever used, so that lost data is detected. Throws if a key cannot be
   * read.
   */
  async readAll(): Promise<void> {
    const { workloads, seed } = this.#orders;
    const random = new Random(`${seed}:last`);
    const keys = keysUntil(this.#journal.elapsedMs);
    for (const client of workloads.keys()) {
      for (let at = 0; at < keys.length; at += keysOfLastRead) {
        const micros = keys
          .slice(at, at + keysOfLastRead)
          .map((key): Micro => ({ f: "r", key, value: null }));
        let tries = 0;
        while (!(await this.#attempt(client, micros, random))) {
          if (++tries > 10) throw new Error(`The keys from ${keys[at]} on could not be read in the end.`);
        }
      }
    }
  }

  #workloadOf(client: number): Workload {
    const { workloads } = this.#orders;
    return workloads[client % workloads.length]!;
  }

  /**
   * Runs one transaction and records its beginning and outcome. Resolves to whether its commit was
   * confirmed.
   */
  async #attempt(client: number, micros: readonly Micro[], random: Random): Promise<boolean> {
    const workload = this.#workloadOf(client);
    const bySnapshot = micros.every(({ f }) => f === "r") && random.chance(0.5);
    this.#journal.add(client, "invoke", micros);
    try {
      const done = bySnapshot
        ? await readSnapshot(this.#db, workload, micros)
        : await this.#db.transact((tx) => perform(tx, workload, micros, random), {
            isolation: this.#orders.isolation,
            timeoutMs,
            // An attempt that conflicts counts as failed. The next attempt is a new transaction.
            retries: 0,
          });
      this.#journal.add(client, "ok", done);
      return true;
    } catch (error) {
      if (!(error instanceof PercolatorError)) throw error;
      // For every other error the library guarantees that nothing was written. If that is wrong,
      // the judgement finds it.
      this.#journal.add(client, error.code === "COMMIT_OUTCOME_UNKNOWN" ? "info" : "fail", micros);
      return false;
    }
  }
}
