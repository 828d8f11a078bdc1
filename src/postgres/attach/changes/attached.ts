import type { Database, MoveRequest, TransactionRunner } from "../../../database/index.js";
import { checkDatabase, SchemaError } from "../../../errors/index.js";
import { type Connections, checkWritable, type Setting, settingOf } from "../../../store/postgres/index.js";
import type { Tx } from "../table/source.js";
import type { Following } from "./follow.js";

/** The cell that names what the last transaction moved. Each one that moves or copies writes it. */
export const lastNote = "attached/last";

/** A connection to the attached tables of a database. */
export interface Attached extends Following, Setting {
  readonly database: TransactionRunner;
  readonly connections: Connections;
  /** The schema's name as SQL. */
  readonly schema: string;
}

/** The connections of a store. Throws if it is not on PostgreSQL. */
export function needSetting({ store }: Pick<MoveRequest, "store">): Setting {
  const setting = settingOf(store);
  if (setting !== undefined) return setting;
  throw new SchemaError(
    `Attached tables need a database on PostgreSQL, in the same database as their SQL tables. ${store.description} is not one.`,
  );
}

/** As {@link needSetting}, of a call's first argument. */
export function settingOfDatabase(call: string, database: Database): Setting {
  checkDatabase(call, database);
  return needSetting({ store: database.openedStore });
}

/** As {@link settingOfDatabase}, for a call that writes. */
export function settingToWrite(call: string, database: Database): Setting {
  const setting = settingOfDatabase(call, database);
  checkWritable(setting, `run \`${call}\``);
  return setting;
}

/** Attempts of one call. Two processes at a time conflict, and then wait differently long. */
const maxAttempts = 2;

/** The outcome of a call that another process kept from moving. */
export const contended = "contended";

/**
 * Runs a transaction that moves or copies. If it conflicts repeatedly, resolves to
 * {@link contended}, so that the caller leaves the work to the other process for a while.
 */
export async function moving<T>(
  database: TransactionRunner,
  label: string,
  run: (tx: Tx) => Promise<T>,
): Promise<T | typeof contended> {
  let attempts = 0;
  return await database.transact<T | typeof contended>(
    async (tx) => (attempts++ < maxAttempts ? await run(tx) : contended),
    { label },
  );
}
