import type { MoveRequest, TransactionRunner } from "../../database/index.js";
import { InvalidKeyError, InvalidValueError, SchemaError } from "../../errors/index.js";
import { type Connections, type Setting, settingOf } from "../../store/postgres/index.js";
import type { Followed } from "./changed-table.js";

/** The cell that names what the last transaction moved. Each one that moves or copies writes it. */
export const lastNote = "attached/last";

/** A connection to the attached tables of a database. */
export interface Attached {
  readonly database: TransactionRunner;
  readonly connections: Connections;
  readonly schema: string;
  readonly followed: ReadonlyMap<string, Followed>;
}

/** The connections of a store. Throws if it is not on PostgreSQL. */
export function needSetting({ store }: Pick<MoveRequest, "store">): Setting {
  const setting = settingOf(store);
  if (setting !== undefined) return setting;
  throw new SchemaError(
    `Attached tables need a database on PostgreSQL, in the same database as their SQL tables. ${store.description} is not one.`,
  );
}

/** Adds to a refused value what the reader must do. Nothing was moved. */
export function stopped({ source }: Followed, error: unknown): unknown {
  const isRefused = error instanceof InvalidValueError || error instanceof InvalidKeyError;
  if (!isRefused && !(error instanceof SyntaxError)) return error;
  return new SchemaError(
    `A row of ${source.sql} does not fit its declaration: ${error.message}. No change of attached tables is moved ` +
      "until you change the row, or change `columns` and call `attachTables` again.",
    { cause: error },
  );
}
