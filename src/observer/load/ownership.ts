import { sleep } from "../../environment/index.js";
import { LoadError } from "../../errors/index.js";
import type { CoreTransaction } from "../../transaction/index.js";
import {
  decodeOwner,
  decodeProgress,
  encodeProgress,
  type LoadOwner,
  type LoadProgress,
  loadOwnerCell,
  loadProgressCell,
} from "../registry/load-record.js";
import type { Registry } from "../registry/registry.js";
import { encodeJson } from "../stored-json.js";
import { takenOver } from "./load-writer.js";

/**
 * How long a load must show no progress before another process takes it over, in milliseconds.
 * Longer than a garbage collection pause. An owner writes its progress every 2 s.
 */
const silentMs = 15_000;
const lookEveryMs = 1_000;

/** Which call runs a load. One at a time does. */
export class Ownership {
  /** Identifies the load. */
  readonly start: number;
  readonly #registry: Registry;
  readonly #name: string;
  readonly #owner: LoadOwner;
  /** Commit timestamp of the owner's cell. */
  at = 0;

  constructor(registry: Registry, start: number, name: string) {
    const { environment } = registry.context;
    this.#registry = registry;
    this.start = start;
    this.#name = name;
    this.#owner = { process: environment.processName, token: environment.uniqueId() };
  }

  /** Becomes the owner. Waits until an owner that may be alive has shown no progress for 15 s. */
  async take(signal: AbortSignal | undefined): Promise<void> {
    const { environment } = this.#registry.context;
    let shown = await this.#look();
    let seenAt = environment.monotonic();
    for (;;) {
      const isGone = shown.owner === undefined || environment.isRunning(shown.owner.process) === false;
      if ((isGone || environment.monotonic() - seenAt >= silentMs) && (await this.#replace(shown, signal)))
        return;
      await sleep(environment, lookEveryMs, signal, "Waiting for a bulk load's owner");
      const now = await this.#look();
      if (now.owner?.token !== shown.owner?.token) seenAt = environment.monotonic();
      else if (now.beat !== shown.beat) {
        throw new LoadError(
          `The bulk load "${this.#name}" runs already, in process ${now.owner?.process}. Wait for its end, or stop that process.`,
        );
      }
      shown = now;
    }
  }

  /** Writes progress. Rejects if another call has taken the load over. */
  async write(progress: LoadProgress, signal: AbortSignal | undefined): Promise<void> {
    await this.#registry.retrying(async () => {
      const tx = await this.#registry.systemTransaction("load", signal);
      try {
        await this.check(tx);
        tx.write({ ...loadProgressCell(this.start), value: encodeProgress(progress) });
        await tx.commit();
      } finally {
        tx.rollback();
      }
    }, signal);
  }

  /** Throws if another call has taken the load over, as of the transaction. */
  async check(tx: CoreTransaction): Promise<void> {
    const stored = await this.#registry.read(tx, loadOwnerCell(this.start));
    if (stored === undefined || decodeOwner(stored).token !== this.#owner.token) throw takenOver();
  }

  /**
   * Lets the next call begin at once, from `progress` if it is given. If this fails, the next call
   * waits, and begins from the position that was stored last.
   */
  async release(progress?: LoadProgress): Promise<void> {
    await this.#registry.retrying(async () => {
      const tx = await this.#registry.systemTransaction("load");
      try {
        await this.check(tx);
        tx.write({ ...loadOwnerCell(this.start), value: undefined });
        if (progress !== undefined) {
          tx.write({ ...loadProgressCell(this.start), value: encodeProgress(progress) });
        }
        await tx.commit();
      } finally {
        tx.rollback();
      }
    });
  }

  async #look(): Promise<{ readonly owner: LoadOwner | undefined; readonly beat: number }> {
    return this.#inTransaction(async (tx) => {
      const owner = await this.#registry.read(tx, loadOwnerCell(this.start));
      const progress = await this.#registry.read(tx, loadProgressCell(this.start));
      return {
        owner: owner === undefined ? undefined : decodeOwner(owner),
        beat: progress === undefined ? 0 : decodeProgress(progress).beat,
      };
    });
  }

  /** Returns false if another call was faster. */
  async #replace(
    shown: { readonly owner: LoadOwner | undefined },
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    const cell = loadOwnerCell(this.start);
    let isMine = false;
    await this.#registry.retrying(async () => {
      const tx = await this.#registry.systemTransaction("load", signal);
      try {
        const stored = await this.#registry.read(tx, cell);
        isMine = (stored === undefined ? undefined : decodeOwner(stored).token) === shown.owner?.token;
        if (!isMine) return;
        tx.write({ ...cell, value: encodeJson(this.#owner) });
        await tx.commit();
        this.at = tx.commitTimestamp!;
      } finally {
        tx.rollback();
      }
    }, signal);
    return isMine;
  }

  async #inTransaction<T>(run: (tx: CoreTransaction) => Promise<T>): Promise<T> {
    return this.#registry.retrying(async () => {
      const tx = await this.#registry.systemTransaction("load");
      try {
        return await run(tx);
      } finally {
        tx.rollback();
      }
    });
  }
}
