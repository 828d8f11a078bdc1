import type { ServerResponse } from "node:http";
import type { Environment, Timer } from "../../environment/index.js";
import type { Overview, TransactionShown } from "../api.js";
import type { RecordedTransaction } from "../recording/report.js";
import type { Gathered } from "../sources/gathered.js";
import { shown } from "../views/transactions.js";
import { failureOf, RequestError } from "./failure.js";
import { noStore } from "./headers.js";

const everyMs = 1_000;
const maxStreams = 32;
/** How long a browser waits before it comes again. */
const retryMs = 2_000;

export interface StreamsOptions {
  readonly environment: Environment;
  readonly gathered: Gathered;
  readonly overview: () => Promise<Overview>;
}

/** Tells all who watch, once a second, what is new: worked out once for all of them, and not at all while nobody watches. */
export class Streams {
  readonly #options: StreamsOptions;
  readonly #open = new Set<ServerResponse>();
  readonly #unlisten: () => void;
  #timer: Timer | undefined;
  #isTelling = false;

  constructor(options: StreamsOptions) {
    this.#options = options;
    this.#unlisten = options.gathered.onTransactions((learned) => this.#tellTransactions(learned));
  }

  /** Streams that are open. */
  get size(): number {
    return this.#open.size;
  }

  /** Begins to tell one of them; ends when it goes away, or all end. */
  add(response: ServerResponse): void {
    if (this.#open.size >= maxStreams) {
      throw new RequestError(503, "TOO_MANY", `There are ${maxStreams} viewers already.`, {
        "retry-after": "10",
      });
    }
    response.writeHead(200, {
      ...noStore,
      "content-type": "text/event-stream; charset=utf-8",
      "x-accel-buffering": "no",
    });
    response.write(`retry: ${retryMs}\n\n`);
    this.#open.add(response);
    response.once("close", () => {
      this.#open.delete(response);
      if (this.#open.size === 0) this.#rest();
    });
    if (this.#timer === undefined && !this.#isTelling) void this.#tick();
    else void this.#tell([response]);
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

  async #tell(responses: readonly ServerResponse[]): Promise<void> {
    try {
      const now = await this.#options.overview();
      this.#send(responses, "overview", JSON.stringify(now));
    } catch (error) {
      this.#send(responses, "failure", JSON.stringify(failureOf(error).failure));
    }
  }

  #tellTransactions(learned: readonly RecordedTransaction[]): void {
    if (this.#open.size === 0) return;
    const transactions: readonly TransactionShown[] = learned.map((each) =>
      shown(this.#options.gathered, each),
    );
    this.#send([...this.#open], "transactions", JSON.stringify(transactions));
  }

  /** Whoever does not read what was sent before is not sent more. */
  #send(responses: readonly ServerResponse[], event: string, data: string): void {
    for (const response of responses) {
      if (!response.writableNeedDrain && !response.writableEnded)
        response.write(`event: ${event}\ndata: ${data}\n\n`);
    }
  }

  #rest(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  close(): void {
    this.#unlisten();
    this.#rest();
    for (const response of this.#open) response.end();
  }
}
