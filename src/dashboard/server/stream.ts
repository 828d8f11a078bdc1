import type { Timer } from "../../environment/index.js";
import type { RecordedTransaction } from "../recording/report.js";
import type { ViewContext } from "../views/context.js";
import { shown } from "../views/transactions.js";
import { failureOf, RequestError } from "./failure.js";

const everyMs = 1_000;
const maxStreams = 32;
/** How long a browser waits before it connects again. */
const retryMs = 2_000;
/** Bytes that may wait for a viewer. If more wait, new events are dropped for that viewer. */
const maxWaitingBytes = 16 * 1_024;
/** A viewer that has read nothing for so long has vanished, or its page is frozen. Its place is needed. */
const slowMs = 60_000;

type StreamContext = Pick<ViewContext, "environment" | "gathered" | "overview">;
type Viewer = ReadableStreamDefaultController<Uint8Array>;

interface Reading {
  /** When the viewer had last read all that was sent before, by the monotonic clock. */
  readAt: number;
  /** Ends its connection. */
  readonly end: () => void;
}

/**
 * Sends news to all viewers once a second. The news is computed once for all viewers, and not at
 * all if there are none.
 */
export class Streams {
  readonly #context: StreamContext;
  readonly #open = new Map<Viewer, Reading>();
  readonly #unlisten: () => void;
  #timer: Timer | undefined;
  #isTelling = false;

  constructor(context: StreamContext) {
    this.#context = context;
    this.#unlisten = context.gathered.onTransactions((learned) => this.#tellTransactions(learned));
  }

  /**
   * The stream of one more viewer. It ends when the viewer goes away or the dashboard is closed. If the
   * viewer reads nothing for a minute, `end` is called, which must end its connection.
   */
  add(end: () => void = () => undefined): ReadableStream<Uint8Array> {
    if (this.#open.size >= maxStreams) {
      const message = `The dashboard already has ${maxStreams} viewers, the limit. Close one.`;
      throw new RequestError(503, "TOO_MANY", message, { "retry-after": "10" });
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
    this.#open.set(viewer!, { readAt: this.#context.environment.monotonic(), end });
    if (this.#timer === undefined && !this.#isTelling) void this.#tick();
    else void this.#tell([viewer!]);
    return stream;
  }

  async #tick(): Promise<void> {
    this.#timer = undefined;
    const begunAt = this.#context.environment.monotonic();
    this.#isTelling = true;
    await this.#tell([...this.#open.keys()]);
    this.#isTelling = false;
    if (this.#open.size === 0) return;
    const tookMs = this.#context.environment.monotonic() - begunAt;
    const waitMs = Math.max(everyMs / 4, everyMs - tookMs);
    this.#timer = this.#context.environment.setTimer(() => void this.#tick(), waitMs, { background: true });
  }

  async #tell(viewers: readonly Viewer[]): Promise<void> {
    try {
      this.#send(viewers, "overview", await this.#context.overview.get());
    } catch (error) {
      this.#send(viewers, "failure", failureOf(error).failure);
    }
  }

  #tellTransactions(learned: readonly RecordedTransaction[]): void {
    if (this.#open.size === 0) return;
    const transactions = learned.map((each) => shown(this.#context.gathered, each));
    this.#send([...this.#open.keys()], "transactions", transactions);
  }

  /** Skips viewers that have not read what was sent before, and ends those that read nothing for long. */
  #send(viewers: readonly Viewer[], event: string, data: unknown): void {
    const bytes = Buffer.from(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    const now = this.#context.environment.monotonic();
    for (const viewer of viewers) {
      const reading = this.#open.get(viewer);
      if (reading === undefined) continue;
      if ((viewer.desiredSize ?? 0) > 0) {
        reading.readAt = now;
        viewer.enqueue(bytes);
      } else if (now - reading.readAt > slowMs) {
        this.#open.delete(viewer);
        reading.end();
      }
    }
  }

  #rest(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  close(): void {
    this.#unlisten();
    this.#rest();
    for (const viewer of this.#open.keys()) viewer.close();
    this.#open.clear();
  }
}
