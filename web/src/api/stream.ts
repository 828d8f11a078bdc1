import type { Failure, Overview } from "../../../src/dashboard/api/index.js";
import { Store } from "../state/store.js";
import { ApiError, apiPath, getJson } from "./client.js";
import { whileVisible } from "./visible.js";

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
/**
 * How long the server may send nothing. It sends an overview each second, so a stream that is silent
 * for longer is broken, or a proxy holds it back.
 */
const quietMs = 15_000;

export const connection = new Store<ConnectionState>({ state: "connecting", error: undefined });
export const overview = new Store<Overview | undefined>(undefined);
/** How often the page has connected again. The server may be another one since. */
export const reconnects = new Store(0);

/** Follows the server while the page is open and visible. */
export function connect(): void {
  const connecting = new Connecting();
  whileVisible(() => {
    connecting.open();
    return () => connecting.close();
  });
}

class Connecting {
  #source: EventSource | undefined;
  #hasAnswered = false;
  #pauseMs = 1_000;
  #poll: ReturnType<typeof setTimeout> | undefined;
  #again: ReturnType<typeof setTimeout> | undefined;
  #quiet: ReturnType<typeof setTimeout> | undefined;

  open(): void {
    this.#source?.close();
    const source = new EventSource(apiPath("stream"));
    this.#source = source;
    this.#heard();
    source.addEventListener("error", () => this.#failed(source));
    source.addEventListener("overview", ({ data }: MessageEvent<string>) => {
      this.#heard();
      this.#opened();
      overview.set(JSON.parse(data) as Overview);
    });
    source.addEventListener("failure", ({ data }: MessageEvent<string>) => {
      this.#heard();
      this.#stopPolling();
      connection.set({ state: "failing", error: new ApiError(503, JSON.parse(data) as Failure) });
    });
  }

  close(): void {
    this.#source?.close();
    clearTimeout(this.#again);
    clearTimeout(this.#quiet);
    this.#stopPolling();
    connection.set({ state: "connecting", error: undefined });
  }

  #heard(): void {
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => this.#silent(), quietMs);
  }

  #opened(): void {
    if (connection.value.state === "live") return;
    this.#stopPolling();
    this.#pauseMs = 1_000;
    this.#answers("live");
  }

  /** Notes that the server answers. If it had answered before, it may be another one since. */
  #answers(state: "live" | "polling"): void {
    if (connection.value.state === state) return;
    if (this.#hasAnswered) reconnects.set(reconnects.value + 1);
    this.#hasAnswered = true;
    connection.set({ state, error: undefined });
  }

  #silent(): void {
    const message = `The server has sent nothing for ${quietMs / 1_000} s.`;
    this.#lost(new ApiError(0, { code: "NOT_REACHED", message }));
    clearTimeout(this.#again);
    this.open();
  }

  #failed(source: EventSource): void {
    this.#lost(undefined);
    // The browser does not reconnect a stream that was refused.
    if (source.readyState !== EventSource.CLOSED) return;
    clearTimeout(this.#quiet);
    this.#again = setTimeout(() => this.open(), this.#pauseMs);
    this.#pauseMs = Math.min(maxPauseMs, this.#pauseMs * 2);
  }

  #lost(error: ApiError | undefined): void {
    if (connection.value.state === "live") connection.set({ state: "lost", error });
    if (this.#poll === undefined) this.#askAfter(0);
  }

  #stopPolling(): void {
    clearTimeout(this.#poll);
    this.#poll = undefined;
  }

  #askAfter(ms: number): void {
    this.#poll = setTimeout(() => void this.#ask(), ms);
  }

  async #ask(): Promise<void> {
    const poll = this.#poll;
    try {
      const answer = await getJson<Overview>(apiPath("overview"), AbortSignal.timeout(maxPauseMs));
      if (poll !== this.#poll) return;
      overview.set(answer);
      this.#answers("polling");
    } catch (error) {
      if (poll !== this.#poll) return;
      connection.set({ state: "lost", error: error as ApiError });
    }
    this.#askAfter(pollMs);
  }
}
