import { type PercolatorError, SchemaError } from "../../../errors/index.js";
import { type Setting, statement } from "../../../store/postgres/index.js";
import type { Attachment } from "../table/attachment.js";

/** A table's change that cannot be moved. The table must be parked. */
export class Unmovable extends Error {
  readonly table: Pick<Attachment, "id" | "generation">;

  constructor(table: Pick<Attachment, "id" | "generation">, reason: string, cause?: unknown) {
    super(reason, { cause });
    this.table = table;
  }
}

/**
 * The code of an error of this library. A program may have loaded two copies of the library: then the
 * transaction's errors are not instances of this copy's classes.
 */
const codeOf = (error: unknown) => String((error as PercolatorError | undefined)?.code);

/** Whether a transaction would be too large, however often it is tried. */
export const isTooLarge = (error: unknown) =>
  codeOf(error) === "LIMIT_EXCEEDED" && !(error as PercolatorError).retryable;

/** The SQLSTATE of an error of the server. Undefined for any other error. */
export function stateOf(error: unknown): string | undefined {
  const { code } = ((error as Error | undefined)?.cause ?? {}) as { readonly code?: unknown };
  return codeOf(error).startsWith("STORE") && typeof code === "string" ? code : undefined;
}

/**
 * Why a table's rows cannot be moved, if no further attempt can help: a value that does not fit its
 * codec, a column that is gone, a missing privilege. Undefined for any other error.
 */
export function reasonOf(sql: string, error: unknown): string | undefined {
  const code = codeOf(error);
  const { message } = error as Error;
  if (code === "SCHEMA") return message;
  if (code === "INVALID_VALUE" || code === "INVALID_KEY" || error instanceof SyntaxError) {
    return `A row of ${sql} does not fit its declaration: ${sentence(message)}`;
  }
  const state = stateOf(error);
  if (state?.startsWith("54") || /invalid memory alloc request size/.test(message)) {
    return `A row of ${sql} has more JSON than PostgreSQL can make, 1 GB: ${sentence(message)}`;
  }
  // A value that has no cast, or a table, column or privilege that is missing.
  if (state?.startsWith("22") || state?.startsWith("42")) {
    return `Rows of ${sql} cannot be read: ${sentence(message)}`;
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
