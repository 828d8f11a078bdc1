import type { Database } from "../../database/index.js";
import type { Environment } from "../../environment/index.js";
import type { Overview, Reach } from "../api.js";
import type { Body } from "../server/body.js";
import type { GatheredReports } from "../sources/gathered.js";
import type { Shared } from "../sources/shared.js";
import type { KnownTables } from "../text/tables.js";
import type { Parameters } from "./parameters.js";
import type { StandingLook } from "./standing.js";

/** The parts from which every view is built. */
export interface ViewContext {
  readonly db: Database;
  readonly environment: Environment;
  readonly tables: Shared<KnownTables>;
  readonly gathered: GatheredReports;
  readonly standing: StandingLook;
  readonly reach: Reach;
  /**
   * The location as the command line takes it; undefined for the name that the store gives itself.
   */
  readonly location: string | undefined;
  readonly writable: boolean;
  readonly overview: Shared<Overview>;
}

/** Computes the answer to `GET api/NAME` from the query parameters. */
export type View<T> = (context: ViewContext, given: Parameters, signal: AbortSignal) => Promise<T>;

/** Does what `POST api/NAME` asks for. */
export type Action<T> = (context: ViewContext, body: Body, signal: AbortSignal) => Promise<T>;
