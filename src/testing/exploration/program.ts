import type { Database } from "../../database/index.js";
import type { Observer } from "../../observer/index.js";
import type { AnyTable } from "../../schema/index.js";
import type { ClientHandle } from "./client-handle.js";

/** How many faults of each kind one execution may have; each may come anywhere. Default: none of any. */
export interface FaultBudget {
  /** Changes whose answer is lost: applied, never applied, or applied later. */
  readonly lostAnswers?: number | undefined;
  /** Changes that arrive a second time, at any later moment. */
  readonly repeats?: number | undefined;
  /** Clients that stop for good; what they had sent may still arrive. */
  readonly stops?: number | undefined;
  /** Times that a living client is taken for dead by another that met its lock. */
  readonly wrongGuesses?: number | undefined;
  /** Timers of the background that fire: refreshes of locks among them. */
  readonly timers?: number | undefined;
}

/** How it went for one client. */
export type ClientEnd =
  | { readonly outcome: "returned"; readonly value: unknown }
  | { readonly outcome: "failed"; readonly error: unknown }
  | { readonly outcome: "stopped" };

/** Which of the two commit paths the clients of a program take. */
export type CommitMode = "one-phase" | "two-phase";

/** A small program of several clients whose every interleaving is to be tried. */
export interface Program {
  readonly name: string;
  /** What it is about, in a sentence. */
  readonly about?: string | undefined;
  readonly tables?: readonly AnyTable[] | undefined;
  /** Observers, registered before the clients begin. */
  readonly observers?: readonly Observer[] | undefined;
  /** How all clients commit, or each by its name. Default: `"one-phase"` where the store has atomic batches. */
  readonly commit?: CommitMode | Readonly<Record<string, CommitMode>> | undefined;
  /** Whether the store has atomic batches. Default: true. */
  readonly atomicBatches?: boolean | undefined;
  /** Values of more bytes stand in data cells. Default: 64. */
  readonly inlineBytes?: number | undefined;
  /** The most guards and mutations of one mutation; a row of more cells is divided. Default: 1,000. */
  readonly mutationCells?: number | undefined;
  /** Observers that clients or the setup register, perhaps newer versions of others; what is due of them is worked off at the end, too. */
  readonly laterObservers?: readonly Observer[] | undefined;
  /** Done once, alone, before the clients begin. `work` runs what is due, once; `register` registers further observers. */
  readonly setup?:
    | ((
        db: Database,
        work: () => Promise<number>,
        register: (observers: readonly Observer[]) => Promise<void>,
      ) => Promise<void>)
    | undefined;
  /** What runs at the same time. Each is a process of its own, and runs when its requests are answered. */
  readonly clients: Readonly<Record<string, (client: ClientHandle) => Promise<unknown>>>;
  readonly faults?: FaultBudget | undefined;
  /**
   * Whether processes tell each other of themselves, as they do outside of explorations, so that one that dies is found dead and what
   * it ran is suspect. Their signs of life are timers of the background. Default: false; each takes every hint on, then.
   */
  readonly sessions?: boolean | undefined;
  /**
   * Which reads of the system's table are steps too: those of the safepoint, for programs that collect, or all, for programs
   * that register. Else they are answered at once, which is right only while nobody changes what they read. Default: none.
   */
  readonly systemRequests?: "none" | "safepoint" | "all" | undefined;
  /**
   * How often time may pass to the next timer of all while something else could happen, for programs that are about time.
   * Default: not at all; then each client's first wait may be over at any moment.
   */
  readonly timePasses?: number | undefined;
  /** Looks at how every execution ended. Throws where it should not have ended so. */
  readonly ended?: ((ends: Readonly<Record<string, ClientEnd>>) => void) | undefined;
  /** Looks at the database after every execution, healed and drained. Throws where it should not be so. */
  readonly healed?: ((db: Database, work: () => Promise<number>) => Promise<void>) | undefined;
}
