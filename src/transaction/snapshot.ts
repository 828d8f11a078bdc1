import { ClosedError } from "../errors/index.js";
import type { TransactionContext } from "./context.js";
import { SnapshotReader } from "./reader.js";
import { View } from "./view.js";

export interface SnapshotSettings {
  readonly signal?: AbortSignal | undefined;
}

/** A read-only view of the database as of one timestamp. Holds collection back until it is closed. */
export class Snapshot extends View {
  /** What is seen: every commit at or below it. Microseconds since 1970, about. */
  readonly timestamp: number;
  readonly #unregister: () => void;
  #closed = false;

  /** @internal */
  constructor(context: TransactionContext, timestamp: number, settings: SnapshotSettings = {}) {
    super(context, new SnapshotReader(context, timestamp, settings), undefined, undefined);
    this.timestamp = timestamp;
    this.#unregister = context.active.register(timestamp);
  }

  protected override assertReadable(): void {
    if (!this.#closed) return;
    throw new ClosedError(
      `The snapshot at ${this.timestamp} was closed: take a new one with \`db.snapshot()\`.`,
    );
  }

  /** Ends the snapshot. Harmless to repeat. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#unregister();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
