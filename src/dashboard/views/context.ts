import type { Database } from "../../database/index.js";
import type { Environment } from "../../environment/index.js";
import type { Reach } from "../api.js";
import type { Gathered } from "../sources/gathered.js";
import type { Tables } from "../text/tables.js";
import type { StandingLook } from "./standing.js";

/** What every view is made from. */
export interface ViewContext {
  readonly db: Database;
  readonly environment: Environment;
  readonly tables: Tables;
  readonly gathered: Gathered;
  readonly standing: StandingLook;
  readonly reach: Reach;
  /** As the command line takes it; undefined: as the store calls itself. */
  readonly location: string | undefined;
  readonly writable: boolean;
}
