import type { Environment, Timer } from "../../environment/index.js";
import type { Overview, TransactionShown } from "../api.js";
import type { RecordedTransaction } from "../recording/report.js";
import type { Gathered } from "../sources/gathered.js";
import { shown } from "../views/transactions.js";
import { failureOf, RequestError } from "./failure.js";

const everyMs = 1_000;
const maxStreams = 32;
/** How long a browser waits before it connects again. */
const retryMs = 2_000;
/** Bytes that may wait for a viewer; beyond them, new events are dropped for that viewer. */
const maxWaitingBytes = 16 * 1_024;

type Viewer = ReadableStreamDefaultController<Uint8Array>;

export interface StreamsOptions {
  readonly environment: Environment;
  readonly gathered: Gathered;
  readonly overview: () => Promise<Overview>;
}

/**
 * Sends news to all viewers once a second. It is computed once for all of them, and not at all
 * without viewers.
 */
export class Streams {
  readonly #options: StreamsOptions;
  readonly #open = new Set<Viewer>();
  readonly #unlisten: () => void;
  #timer: Timer | undefined;
  #isTelling = false;

  constructor(options: StreamsOptions) {
    this.#options = options;
    this.#unlisten = options.gathered.onTransactions((learned) => this.#tellTransactions(learned));
  }

  /**
   * The stream of one more viewer. It ends when the viewer goes away or the dashboard is closed.
   */
  add(): ReadableStream<Uint8Array> {
    if (this.#open.size >= maxStreams) {
      throw new RequestError(503, "TOO_MANY", `There are ${maxStreams} viewers already.`, {
        "retry-after": "10",
      });
    }
    let viewer: Viewer | undefined;
    const start = (controller: Viewer) => {
      viewer = controller;
      controller.enqueue(Buffer.from(`retry: ${retryMs}\n\n`));
    };
    const cancel = () => {
      if (viewer !== undefined) this.#open.delete(viewer);
      if (this.#open.size === 0) this.#rest();
    };
    const bound = new ByteLengthQueuingStrategy({ highWaterMark: maxWaitingBytes });
    const stream = new ReadableStream<Uint8Array>({ start, cancel }, bound);
    this.#open.add(viewer!);
    if (this.#timer === undefined && !this.#isTelling) void this.#tick();
    else void this.#tell([viewer!]);
    return stream;
  }

  async #tick(): Promise<void> {
    const begunAt = this.#options.environment.monotonic();
    this.#isTelling = true;
    await this.#tell([...this.#open]);
    this.#isTelling = false;
    if (this.#open.size === 0) return;
    const tookMs = this.#options.environment.monotonic() - begunAt;
    const waitMs = Math.max(everyMs / 4, everyMs - tookMs);
    this.#timer = this.#options.environment.setTimer(() => void this.#tick(), waitMs, { background: true });
  }

  async #tell(viewers: readonly Viewer[]): Promise<void> {
    try {
      const now = await this.#options.overview();
      this.#send(viewers, "overview", JSON.stringify(now));
    } catch (error) {
      this.#send(viewers, "failure", JSON.stringify(failureOf(error).failure));
    }
  }

  #tellTransactions(learned: readonly RecordedTransaction[]): void {
    if (this.#open.size === 0) return;
    const transactions: readonly TransactionShown[] = learned.map((each) =>
      shown(this.#options.gathered, each),
    );
    this.#send([...this.#open], "transactions", JSON.stringify(transactions));
  }

  /** Skips viewers that have not read what was sent before. */
  #send(viewers: readonly Viewer[], event: string, data: string): void {
    const bytes = Buffer.from(`event: ${event}\ndata: ${data}\n\n`);
    for (const viewer of viewers) {
      if (this.#open.has(viewer) && (viewer.desiredSize ?? 0) > 0) viewer.enqueue(bytes);
    }
  }

  #rest(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  close(): void {
    this.#unlisten();
    this.#rest();
    for (const viewer of this.#open) viewer.close();
    this.#open.clear();
  }
}
