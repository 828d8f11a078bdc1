import type { Database } from "../../database/index.js";
import type { Environment } from "../../environment/index.js";
import type { LoadPart, LoadReport, Observer } from "../../observer/index.js";
import type { Oracle } from "../../oracle/index.js";
import type { Feed } from "../../schema/index.js";
import type { RowStore } from "../../store/index.js";
import type { Network } from "../world/index.js";

/** The options of {@link ClientHandle.work}. Each has a default. */
export interface WorkTurns {
  /**
   * How many times the client scans the hints. Before each scan it waits until there are hints.
   * Default: 1.
   */
  readonly looks?: number | undefined;
  /**
   * The program's observers that the client runs, one after the other. Default: all, in the
   * program's order.
   */
  readonly observers?: readonly Observer[] | undefined;
}

/** What {@link ClientHandle.readFeed} found. */
export interface FeedReading {
  /** It has the changes that committed after `since`, up to `upTo`. */
  readonly since: number;
  readonly upTo: number;
  /** The rows of the changes, in their order. */
  readonly rows: readonly string[];
}

/**
 * The tools of a client of an exploration. Every request that the client makes through them is a
 * step of the exploration.
 */
export interface ClientHandle {
  readonly name: string;
  /** The client's database. Each client opens the shared store as a process of its own. */
  readonly db: Database;
  readonly store: RowStore;
  readonly oracle: Oracle;
  readonly environment: Environment;
  /** Sends the client's requests to anything except its database. */
  readonly network: Network;
  /**
   * Values that the clients of one execution share. No fault affects them. Use it to record what
   * the program expects at the end.
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
   * Resolves to true when the named client has died or was stopped, or to false when no other
   * client can continue.
   */
  outlives(name: string): Promise<boolean>;
  /**
   * Registers observers and records feeds, as opening a database with them does. Resolves when all
   * processes know them. `feeds`: default none.
   */
  register(observers: readonly Observer[], feeds?: readonly Feed[]): Promise<void>;
  /**
   * Reads all changes of a feed that committed after `since` up to now. Default: after a moment at
   * the beginning of the call. Resolves to `"lost"` if the feed was removed meanwhile.
   */
  readFeed(feed: Feed, since: number | undefined): Promise<FeedReading | "lost">;
  /**
   * Whether everything that a commit has caused is handled by observers, as `db.settled` finds out.
   * `isOlder`: as for a commit from before runs said what they handled. Default: false.
   */
  isSettled(commitTimestamp: number, isOlder?: boolean): Promise<boolean>;
  /** Loads rows as `db.load` does, in batches of at most `batchRows` rows. Default: 1. */
  load(name: string, parts: readonly LoadPart[], batchRows?: number): Promise<LoadReport>;
}
