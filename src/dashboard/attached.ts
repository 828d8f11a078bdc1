import type { Database } from "../database/index.js";
import { StoreError } from "../errors/index.js";
import type { AttachedTableStatus } from "../postgres/index.js";
import { isRemote } from "../store/index.js";

/** The attached SQL tables of a database. */
export interface AttachedLook {
  readonly tables: readonly AttachedTableStatus[];
  /** Which privilege this role lacks to read them. Undefined if it lacks none. */
  readonly denied: string | undefined;
}

const none: AttachedLook = { tables: [], denied: undefined };
/** PostgreSQL's code for a missing privilege. */
const insufficientPrivilege = "42501";

/**
 * How the attached tables of a database are. None if it is not on PostgreSQL. A role that may not
 * read them still sees everything else.
 *
 * @throws StoreError if the server cannot be asked.
 */
export async function lookAtAttached(db: Database, maxPending: number): Promise<AttachedLook> {
  if (!isRemote(db.openedStore)) return none;
  // Only a database on PostgreSQL needs this code.
  const { settingOf } = await import("../store/postgres/index.js");
  if (settingOf(db.openedStore) === undefined) return none;
  const { attachedTables } = await import("../postgres/index.js");
  try {
    return { tables: await attachedTables(db, [], { maxPending }), denied: undefined };
  } catch (error) {
    const cause = error instanceof StoreError ? error.cause : undefined;
    if (!(cause instanceof Error) || Reflect.get(cause, "code") !== insufficientPrivilege) throw error;
    return { tables: [], denied: (error as StoreError).message };
  }
}

/**
 * Why observers do not see the changes of an attached table: it is parked, or does not fit its
 * triggers any more. Undefined if they do.
 */
export function attachedProblem({ parked, problems }: AttachedTableStatus): string | undefined {
  return parked?.error ?? problems[0];
}
