import type { Database } from "../../database/index.js";
import type { Environment } from "../../environment/index.js";
import type { Reach } from "../api.js";
import type { Gathered } from "../sources/gathered.js";
import type { Tables } from "../text/tables.js";
import type { StandingLook } from "./standing.js";

/** The parts from which every view is built. */
export interface ViewContext {
  readonly db: Database;
  readonly environment: Environment;
  readonly tables: Tables;
  readonly gathered: Gathered;
  readonly standing: StandingLook;
  readonly reach: Reach;
  /**
   * The location as the command line takes it; undefined for the name that the store gives itself.
   */
  readonly location: string | undefined;
  readonly writable: boolean;
}
