import { InvalidKeyError, InvalidValueError, SchemaError, StoreError } from "../../errors/index.js";
import { type Setting, statement } from "../../store/postgres/index.js";
import type { Attachment } from "./attachment.js";

/** A table's change that cannot be moved. The table must be parked. */
export class Unmovable extends Error {
  readonly table: Pick<Attachment, "id" | "generation">;

  constructor(table: Pick<Attachment, "id" | "generation">, reason: string, cause?: unknown) {
    super(reason, { cause });
    this.table = table;
  }
}

/** The SQLSTATE of an error of the server. Undefined for any other error. */
export function stateOf(error: unknown): string | undefined {
  const { code } = ((error as StoreError | undefined)?.cause ?? {}) as { readonly code?: unknown };
  return error instanceof StoreError && typeof code === "string" ? code : undefined;
}

/**
 * Why a table's rows cannot be moved, if no further attempt can help: a value that does not fit its
 * codec, a column that is gone, a missing privilege. Undefined for any other error.
 */
export function reasonOf(sql: string, error: unknown): string | undefined {
  if (error instanceof SchemaError) return error.message;
  const isRefused = error instanceof InvalidValueError || error instanceof InvalidKeyError;
  if (isRefused || error instanceof SyntaxError) {
    return `A row of ${sql} does not fit its declaration: ${sentence(error.message)}`;
  }
  const state = stateOf(error);
  // A value that has no cast, or a table, column or privilege that is missing.
  if (state?.startsWith("22") || state?.startsWith("42")) {
    return `Rows of ${sql} cannot be read: ${sentence((error as StoreError).message)}`;
  }
  return undefined;
}

const sentence = (text: string) => (text.endsWith(".") ? text : `${text}.`);

/**
 * Parks a table: its changes are not moved until it is attached again. Does nothing if it is parked,
 * or was attached again meanwhile.
 *
 * @throws SchemaError if this role may not store that.
 */
export async function park(
  { connections, schema }: Setting,
  { id, generation }: Pick<Attachment, "id" | "generation">,
  reason: string,
): Promise<void> {
  const update = statement(
    `update ${schema}.attachments set error = $3, parked_at = now()
     where id = $1::integer and generation = $2::bigint and error is null`,
  );
  try {
    await connections.repeat(update, [id, generation, reason], "park an attached table");
  } catch (error) {
    if (stateOf(error) !== "42501") throw error;
    throw new SchemaError(
      `${reason} This role may not park the table, so no change of attached tables is moved: grant it UPDATE on ` +
        `${schema}.attachments, or correct the SQL table.`,
      { cause: error },
    );
  }
}
