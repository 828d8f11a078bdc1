import type { Database } from "../../database/index.js";
import type { Environment } from "../../environment/index.js";
import type { Observer } from "../../observer/index.js";
import type { Oracle } from "../../oracle/index.js";
import type { RowStore } from "../../store/index.js";
import type { Network } from "../world/index.js";

/** What a client of a program works on as a worker. */
export interface WorkTurns {
  /** How often it looks at the hints, each time once some stand. Default: 1. */
  readonly looks?: number | undefined;
  /** Those of the program's observers that it runs, one after the other. Default: all, in their order. */
  readonly observers?: readonly Observer[] | undefined;
}

/** What a client of an exploration has. Everything it asks of others by these is a step of its own. */
export interface ClientHandle {
  readonly name: string;
  /** A database as a process of its own has it. */
  readonly db: Database;
  readonly store: RowStore;
  readonly oracle: Oracle;
  readonly environment: Environment;
  /** For requests of one's own. */
  readonly network: Network;
  /** What the clients of one execution share with each other, beyond all faults: for what a program expects. */
  readonly shared: Map<string, unknown>;
  /**
   * Looks at the hints once some stand, or nobody else can do anything, and runs the observers that are due. Answers how many
   * runs there were.
   */
  work(turns?: WorkTurns): Promise<number>;
  /** Ends this process here, as SIGKILL does. */
  die(): Promise<never>;
  /** Resolves when another client has died or was stopped (true), or nobody else can do anything (false). */
  outlives(name: string): Promise<boolean>;
  /** Registers observers, as opening a database with them does: it waits until all processes know of them. */
  register(observers: readonly Observer[]): Promise<void>;
}
