import type { Database } from "../../database/index.js";
import type { Environment } from "../../environment/index.js";
import type { Observer } from "../../observer/index.js";
import type { Oracle } from "../../oracle/index.js";
import type { RowStore } from "../../store/index.js";
import type { Network } from "../world/index.js";

/** How a client of a program works as a worker. */
export interface WorkTurns {
  /** How often the client scans the hints. Each scan waits until there are hints. Default: 1. */
  readonly looks?: number | undefined;
  /**
   * The program's observers that the client runs, one after the other. Default: all, in their
   * order.
   */
  readonly observers?: readonly Observer[] | undefined;
}

/**
 * What a client of an exploration works with. Every request that it makes through these is a step
 * of the exploration.
 */
export interface ClientHandle {
  readonly name: string;
  /** A database, as a process of its own opens it. */
  readonly db: Database;
  readonly store: RowStore;
  readonly oracle: Oracle;
  readonly environment: Environment;
  /** Sends further requests of the client. */
  readonly network: Network;
  /**
   * Values that the clients of one execution share. No fault affects them. Use it for what the
   * program expects at the end.
   */
  readonly shared: Map<string, unknown>;
  /**
   * Waits until there are hints, or no other client can continue. Then scans the hints and runs the
   * observers that are due. Resolves to the number of runs.
   */
  work(turns?: WorkTurns): Promise<number>;
  /** Ends this process here, as SIGKILL does. Never resolves. */
  die(): Promise<never>;
  /**
   * Resolves to true when another client has died or was stopped, or to false when no other client
   * can continue.
   */
  outlives(name: string): Promise<boolean>;
  /**
   * Registers observers, as opening a database with them does. Resolves when all processes know
   * them.
   */
  register(observers: readonly Observer[]): Promise<void>;
}
