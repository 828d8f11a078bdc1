import type { Database } from "../../database/index.js";
import { checkOptionNames, InvalidArgumentError, type OptionNames } from "../../errors/index.js";
import type { Observer } from "../../observer/index.js";
import type { AnyTable, Feed } from "../../schema/index.js";
import type { ClientHandle } from "./client-handle.js";

/**
 * The most faults of each kind in one execution. Each fault may occur at any step. Default: none of
 * any kind.
 */
export interface FaultBudget {
  /**
   * Changes whose answer is lost. The change itself is applied, never applied, or applied later.
   */
  readonly lostAnswers?: number | undefined;
  /** Changes that arrive a second time, at any later moment. */
  readonly repeats?: number | undefined;
  /** Clients that stop for good. Requests that they had sent may still arrive. */
  readonly stops?: number | undefined;
  /** Live clients that another client believes dead when it meets their lock. */
  readonly wrongGuesses?: number | undefined;
  /** Background timers that fire, including those that refresh locks. */
  readonly timers?: number | undefined;
}

const programNames: OptionNames<Program> = {
  name: true,
  about: true,
  tables: true,
  observers: true,
  feeds: true,
  asksWhatIsSettled: true,
  commit: true,
  atomicBatches: true,
  remote: true,
  inlineBytes: true,
  mutationCells: true,
  laterObservers: true,
  setup: true,
  clients: true,
  faults: true,
  sessions: true,
  systemRequests: true,
  timePasses: true,
  ended: true,
  healed: true,
};
const faultNames: OptionNames<FaultBudget> = {
  lostAnswers: true,
  repeats: true,
  stops: true,
  wrongGuesses: true,
  timers: true,
};

/** Throws for a misspelt name: without the check that it stands for, an exploration finds nothing. */
export function checkProgram(call: string, program: Program): void {
  checkOptionNames(call, program, programNames);
  checkOptionNames(`faults of ${call}`, program.faults ?? {}, faultNames);
  checkLimits({ ...program.faults, timePasses: program.timePasses });
}

/** Throws for a limit that nothing reaches, or that allows nothing, because it is no number. */
export function checkLimits(limits: Readonly<Record<string, number | undefined>>): void {
  for (const [name, limit = 0] of Object.entries(limits)) {
    if (!(typeof limit === "number" && limit >= 0))
      throw new InvalidArgumentError(`\`${name}\` must be a number of at least 0, not ${String(limit)}.`);
  }
}

/** How one client ended. */
export type ClientEnd =
  | { readonly outcome: "returned"; readonly value: unknown }
  | { readonly outcome: "failed"; readonly error: unknown }
  | { readonly outcome: "stopped" };

/** The two commit paths: a client takes one of them. */
export type CommitMode = "one-phase" | "two-phase";

/** A small program of several clients. {@link explore} tries every interleaving of it. */
export interface Program {
  readonly name: string;
  /** What the program tests, in one sentence. */
  readonly about?: string | undefined;
  readonly tables?: readonly AnyTable[] | undefined;
  /** Observers that are registered before the clients begin. Default: none. */
  readonly observers?: readonly Observer[] | undefined;
  /** Feeds that are recorded before the clients begin. Default: none. */
  readonly feeds?: readonly Feed[] | undefined;
  /**
   * Whether runs say what they handled, so that clients can ask {@link ClientHandle.isSettled}.
   * Default: false.
   */
  readonly asksWhatIsSettled?: boolean | undefined;
  /**
   * How all clients commit, or each client by its name. Default: `"one-phase"` if the store has
   * atomic batches.
   */
  readonly commit?: CommitMode | Readonly<Record<string, CommitMode>> | undefined;
  /** Whether the store has atomic batches. Default: true. */
  readonly atomicBatches?: boolean | undefined;
  /**
   * Whether the store counts as outside of its processes, so that they use copies of the registry.
   * Default: true without atomic batches.
   */
  readonly remote?: boolean | undefined;
  /**
   * Longest value that a write record holds inline, in bytes. Longer ones get data cells. Default:
   * 64.
   */
  readonly inlineBytes?: number | undefined;
  /**
   * The most guards and mutations, counted together, of one row mutation. A change of a row that
   * needs more is divided. Default: 1,000.
   */
  readonly mutationCells?: number | undefined;
  /**
   * Observers that the clients or the setup register, possibly newer versions of others. After an
   * execution, the explorer runs these observers too, until nothing is due. Default: none.
   */
  readonly laterObservers?: readonly Observer[] | undefined;
  /**
   * Runs once, alone, before the clients begin. `work` runs the observers that are due, once.
   * `register` registers further observers. Like everything in a program, it must wait for nothing
   * but its database and what follows from it: `explore` rejects with a `TimeoutError` otherwise.
   */
  readonly setup?:
    | ((
        db: Database,
        work: () => Promise<number>,
        register: (observers: readonly Observer[]) => Promise<void>,
      ) => Promise<void>)
    | undefined;
  /**
   * The clients, which run at the same time. Each is a process of its own, and continues when its
   * requests are answered.
   */
  readonly clients: Readonly<Record<string, (client: ClientHandle) => Promise<unknown>>>;
  readonly faults?: FaultBudget | undefined;
  /**
   * Whether processes exchange heartbeats, as they do outside of explorations. If so, other
   * processes detect that a process has died, and treat its runs as suspect. Heartbeats are
   * background timers. Default: false, so each process takes every hint.
   */
  readonly sessions?: boolean | undefined;
  /**
   * Which reads of the system table are steps too. Programs that collect garbage need
   * `"safepoint"`, for reads of the safepoint. Programs with one loader need `"registry"`, and
   * programs with several need `"loads"`, for reads of owners and positions too. Programs that
   * register observers need `"all"`. All other reads are answered at once, which is right only while
   * no other client changes what they read. Default: `"none"`.
   */
  readonly systemRequests?: "none" | "safepoint" | "registry" | "loads" | "all" | undefined;
  /**
   * How many times time may jump to the next timer while another step is possible. Set it for
   * programs that depend on the passing of time. Default: time does not jump, but the first wait of
   * each client may end early, at any moment.
   */
  readonly timePasses?: number | undefined;
  /** Checks how the clients of an execution ended. Throws if an end is wrong. Default: none. */
  readonly ended?: ((ends: Readonly<Record<string, ClientEnd>>) => void) | undefined;
  /**
   * Checks the database after an execution, when all locks are resolved and nothing is due. Throws
   * if its state is wrong. `shared` holds what the clients recorded. Default: none.
   */
  readonly healed?:
    | ((db: Database, work: () => Promise<number>, shared: ReadonlyMap<string, unknown>) => Promise<void>)
    | undefined;
}
