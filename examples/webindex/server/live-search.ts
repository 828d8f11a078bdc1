import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout } from "node:timers/promises";
import type { Database, Snapshot } from "percolatordb";
import { liveResponse, sendResponse } from "percolatordb/live";
import type { SearchIndex } from "../search/search-index.js";
import { foundPart } from "./pages.js";
import type { Question } from "./question.js";
import { WaitingLine } from "./waiting-line.js";

/** What an open page of results gets: the part of the page that changes by itself. */
export interface ShownResults {
  readonly html: string;
}

export interface LiveSearchOptions {
  /** The line in which all requests wait. A run of an open search takes a turn in it. */
  readonly line: WaitingLine;
  /** The most pages that are live at the same time. Further ones are told to try again later. */
  readonly maxOpen: number;
  /** The least time between two runs of an open search, in milliseconds. */
  readonly throttleMs: number;
  /** How long a run waits for its turn at most, in milliseconds. The page then connects again. */
  readonly deadlineMs: number;
  /** Receives internal errors. */
  readonly onError: (error: unknown) => void;
  /** The time in milliseconds. */
  readonly now?: (() => number) | undefined;
  /** Waits for so many milliseconds. Rejects if the signal is aborted. */
  readonly sleep?: ((ms: number, signal: AbortSignal) => Promise<unknown>) | undefined;
}

/** Runs at a time, so that requests find free turns even if many open searches are due. */
const runsAtOnce = 2;
/** All open searches together run for at most about one part in so many of the time. */
const shareOfTime = 10;
/** So the results of many open searches are late by at most this time, in milliseconds. */
const maxPauseMs = 10_000;
/** The longest that a run may take once it has a turn, in milliseconds. */
const runMs = 10_000;

const sleepFor = (ms: number, signal: AbortSignal) => setTimeout(ms, undefined, { signal });

/** A run of an open search had no turn within its deadline. */
class BusyError extends Error {
  override readonly name = "BusyError";
}

/**
 * Open searches: pages that show new results by themselves. Each is a live query, which runs again
 * when a commit changes something that it has read.
 *
 * While a crawl loads, nearly every commit makes every open search due. So the time between two runs
 * of one search grows with the number of open searches and with the time that a run takes, and a load
 * keeps nine tenths of the time however many there are.
 */
export class LiveSearches {
  readonly #db: Database;
  readonly #index: SearchIndex;
  readonly #options: LiveSearchOptions;
  readonly #runs: WaitingLine;
  readonly #open = new Map<AbortController, Promise<void>>();

  constructor(db: Database, index: SearchIndex, options: LiveSearchOptions) {
    const { maxOpen, deadlineMs } = options;
    this.#db = db;
    this.#index = index;
    this.#options = options;
    this.#runs = new WaitingLine({ atOnce: runsAtOnce, maxWaiting: maxOpen, deadlineMs });
  }

  /** Sends the results and each change of them, until the client is gone or `stop` is called. */
  async answer(question: Question, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const ending = new AbortController();
    response.once("close", () => ending.abort(new Error("Nobody shows these results any more")));
    const sent = this.#send(question, request, response, ending.signal).catch((error: unknown) => {
      this.#options.onError(error);
      response.destroy();
    });
    this.#open.set(ending, sent);
    await sent;
    this.#open.delete(ending);
  }

  /** Ends all responses. Their pages connect again. */
  async stop(): Promise<void> {
    const open = [...this.#open];
    for (const [ending] of open) ending.abort(new Error("The server stops"));
    await Promise.all(open.map(([, sent]) => sent));
  }

  async #send(
    question: Question,
    { headers, method = "GET" }: IncomingMessage,
    response: ServerResponse,
    signal: AbortSignal,
  ): Promise<void> {
    const { maxOpen, throttleMs, deadlineMs, onError } = this.#options;
    const { now = () => performance.now(), sleep = sleepFor } = this.#options;
    const last = headers["last-event-id"];
    const request = new Request("http://localhost/", {
      method,
      signal,
      headers: typeof last === "string" ? { "last-event-id": last } : {},
    });
    let earliest = Number.NEGATIVE_INFINITY;
    const read = async (snapshot: Snapshot): Promise<ShownResults> => {
      // `throttleMs` of a live query is the time between two values. A run that finds nothing new
      // for this search costs the same.
      const pauseMs = earliest - now();
      if (pauseMs > 0) await sleep(pauseMs, signal);
      const leave = await this.#enter(signal);
      const began = now();
      try {
        const answer = await this.#index.searchLive(snapshot, question.query, {
          ...question.options,
          signal,
        });
        return { html: foundPart({ ...question, answer }).source };
      } finally {
        earliest = began + this.#pauseMs(now() - began);
        leave();
      }
    };
    const answer = await liveResponse(this.#db, read, request, {
      maxConnections: maxOpen,
      // A run first waits for its pause, and in two lines.
      timeoutMs: Math.max(throttleMs, maxPauseMs) + 2 * deadlineMs + runMs,
      onError: (error) => {
        if (!(error instanceof BusyError)) onError(error);
      },
    });
    await sendResponse(answer, response);
  }

  /** Waits for a turn of the open searches, and then for one of all requests. */
  async #enter(signal: AbortSignal): Promise<() => void> {
    const leaveRuns = await this.#runs.enter(signal);
    if (leaveRuns === undefined) throw new BusyError("Too many open searches are waiting");
    const leaveLine = await this.#options.line.enter(signal);
    if (leaveLine === undefined) {
      leaveRuns();
      throw new BusyError("Too many requests are waiting");
    }
    return () => {
      leaveLine();
      leaveRuns();
    };
  }

  #pauseMs(tookMs: number): number {
    const fairMs = Math.min(maxPauseMs, tookMs * shareOfTime * this.#open.size);
    return Math.max(this.#options.throttleMs, fairMs);
  }
}
