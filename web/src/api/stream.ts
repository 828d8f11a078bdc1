import type { Failure, Overview } from "../../../src/dashboard/api/index.js";
import { Store } from "../state/store.js";
import { ApiError, apiPath, getJson } from "./client.js";

/**
 * `polling`: the stream is broken, and the page sends requests instead. `failing`: the server
 * answers with a failure.
 */
export type Connection = "connecting" | "live" | "failing" | "polling" | "lost";

export interface ConnectionState {
  readonly state: Connection;
  readonly error: ApiError | undefined;
}

const pollMs = 2_000;
const maxPauseMs = 10_000;

export const connection = new Store<ConnectionState>({ state: "connecting", error: undefined });
export const overview = new Store<Overview | undefined>(undefined);
/** When the page got its newest overview, by the browser's clock. */
export const seenAt = new Store<number | undefined>(undefined);

/** Follows the server while the page is open. */
export function connect(): void {
  new Connecting().open();
}

class Connecting {
  #source: EventSource | undefined;
  #pauseMs = 1_000;
  #poll: ReturnType<typeof setTimeout> | undefined;

  open(): void {
    this.#source?.close();
    const source = new EventSource(apiPath("stream"));
    this.#source = source;
    source.addEventListener("open", () => this.#opened());
    source.addEventListener("error", () => this.#failed(source));
    source.addEventListener("overview", ({ data }: MessageEvent<string>) => {
      if (connection.value.state !== "live") this.#opened();
      remember(JSON.parse(data) as Overview);
    });
    source.addEventListener("failure", ({ data }: MessageEvent<string>) => {
      connection.set({ state: "failing", error: new ApiError(503, JSON.parse(data) as Failure) });
    });
  }

  #opened(): void {
    clearTimeout(this.#poll);
    this.#poll = undefined;
    this.#pauseMs = 1_000;
    connection.set({ state: "live", error: undefined });
  }

  #failed(source: EventSource): void {
    if (connection.value.state === "live") connection.set({ state: "lost", error: undefined });
    if (this.#poll === undefined) this.#askAfter(0);
    // The browser does not reconnect a stream that was refused.
    if (source.readyState !== EventSource.CLOSED) return;
    setTimeout(() => this.open(), this.#pauseMs);
    this.#pauseMs = Math.min(maxPauseMs, this.#pauseMs * 2);
  }

  #askAfter(ms: number): void {
    this.#poll = setTimeout(() => void this.#ask(), ms);
  }

  async #ask(): Promise<void> {
    const poll = this.#poll;
    try {
      const answer = await getJson<Overview>(apiPath("overview"), AbortSignal.timeout(maxPauseMs));
      if (poll !== this.#poll) return;
      remember(answer);
      connection.set({ state: "polling", error: undefined });
    } catch (error) {
      if (poll !== this.#poll) return;
      connection.set({ state: "lost", error: error as ApiError });
    }
    this.#askAfter(pollMs);
  }
}

function remember(next: Overview): void {
  overview.set(next);
  seenAt.set(Date.now());
}
