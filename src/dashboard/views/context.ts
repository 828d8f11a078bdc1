import type { Database } from "../../database/index.js";
import type { Environment } from "../../environment/index.js";
import type { InspectedRow, LocksPage, Overview, Reach } from "../api/index.js";
import type { FailuresLook } from "../failures/failures-look.js";
import type { Growth } from "../past/growth.js";
import type { PastMoments } from "../past/past.js";
import type { Body } from "../server/body.js";
import type { GatheredReports } from "../sources/gathered.js";
import type { Shared } from "../sources/shared.js";
import type { SharedAnswers } from "../sources/shared-answers.js";
import type { KnownTables } from "../text/tables.js";
import type { Parameters } from "./parameters.js";
import type { StandingLook } from "./standing.js";

/** A page of locks: those behind a lock, and how many at most. */
export interface LocksQuestion {
  readonly after: string | undefined;
  readonly limit: number;
}

/** A row, by the name of its table and as text. */
export interface RowQuestion {
  readonly table: string;
  readonly row: string;
}

/** The parts from which every view is built. */
export interface ViewContext {
  readonly db: Database;
  readonly environment: Environment;
  readonly tables: Shared<KnownTables>;
  readonly gathered: GatheredReports;
  readonly standing: StandingLook;
  readonly failures: FailuresLook;
  readonly locks: SharedAnswers<LocksQuestion, LocksPage>;
  readonly inspected: SharedAnswers<RowQuestion, InspectedRow>;
  readonly growth: Growth;
  readonly reach: Reach;
  /**
   * The location as the command line takes it; undefined for the name that the store gives itself.
   */
  readonly location: string | undefined;
  readonly writable: boolean;
  readonly overview: Shared<Overview>;
  readonly past: PastMoments;
}

/** Computes the answer to `GET api/NAME` from the query parameters. */
export type View<T> = (context: ViewContext, given: Parameters, signal: AbortSignal) => Promise<T>;

/** Does what `POST api/NAME` asks for. Calls `tell` with what is done so far. */
export type Action<T> = (
  context: ViewContext,
  body: Body,
  signal: AbortSignal,
  tell: (soFar: T) => void,
) => Promise<T>;
