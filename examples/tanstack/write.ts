import type { Database, Feed, FeedColumn, Transaction } from "percolatordb";
import { z } from "zod";

/** The body of a request that writes. The limits keep a transaction small. */
const bodySchema = z.object({
  mutations: z
    .array(
      z.object({
        type: z.enum(["insert", "update", "delete"]),
        table: z.string(),
        row: z.unknown(),
        values: z.record(z.string(), z.unknown()),
        removed: z.array(z.string()).max(100),
      }),
    )
    .min(1)
    .max(1_000),
});

/** A mutation of one row, as a client has sent it. */
export type SentMutation = z.infer<typeof bodySchema>["mutations"][number];

/** A mutation that is not made. The client gets the code and the message. */
export class RefusedError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = "RefusedError";
    this.code = code;
  }
}

/**
 * Makes the mutations of a request in one transaction, and returns its commit timestamp. Clients
 * write only columns of the feeds, so that each mutation comes back to them. The transaction is
 * serializable: two clients may insert a row at once, or write other columns than `check` reads.
 *
 * @param check Reads what the transaction has written, and throws a `RefusedError` to make none of it.
 */
export async function writeMutations(
  db: Database,
  feeds: readonly Feed[],
  body: unknown,
  check: (tx: Transaction, mutation: SentMutation) => Promise<void>,
): Promise<number> {
  const parsed = bodySchema.safeParse(body);
  if (!parsed.success) {
    throw new RefusedError("INVALID_BODY", `The body is invalid: ${z.prettifyError(parsed.error)}`);
  }
  const columns = feeds.flatMap((feed) => feed.columns);
  const { mutations } = parsed.data;
  const tx = await db.transact(
    async (tx) => {
      for (const mutation of mutations) {
        const ofTable = columns.filter((column) => column.table.name === mutation.table);
        await write(tx, ofTable, mutation);
      }
      for (const mutation of mutations) await check(tx, mutation);
      return tx;
    },
    { isolation: "serializable" },
  );
  return tx.commitTimestamp!;
}

/** Each mutation writes at least one cell, or is refused. */
async function write(tx: Transaction, columns: readonly FeedColumn[], mutation: SentMutation): Promise<void> {
  const { type, table, row, values, removed } = mutation;
  if (columns.length === 0) throw new RefusedError("UNKNOWN_TABLE", `Clients may not write ${table}.`);
  const cells = await cellsOf(tx, columns, row);
  const name = `The row ${JSON.stringify(row)} of ${table}`;
  if (type === "insert" && cells.length > 0) throw new RefusedError("ROW_EXISTS", `${name} exists already.`);
  if (type !== "insert" && cells.length === 0)
    throw new RefusedError("ROW_MISSING", `${name} does not exist.`);
  if (type === "delete") {
    for (const cell of cells) tx.delete(cell, row);
    return;
  }
  const entries = Object.entries(values);
  if (entries.length + removed.length === 0) {
    throw new RefusedError("NO_VALUES", `${name} needs a value in at least one column.`);
  }
  const columnOf = (column: string) => {
    const found = columns.find((of) => of.name === column);
    if (found?.kind === "column") return found;
    throw new RefusedError("UNKNOWN_COLUMN", `Clients may not write ${table}.${column}.`);
  };
  for (const [column, value] of entries) tx.set(columnOf(column), row, value);
  for (const column of removed) tx.delete(columnOf(column), row);
}

/** The cells of a row that hold a value. */
async function cellsOf(tx: Transaction, columns: readonly FeedColumn[], row: unknown) {
  const found = [];
  for (const column of columns) {
    if (column.kind === "family") {
      for await (const { qualifier } of tx.entries(column, row)) found.push(column.at(qualifier));
    } else if ((await tx.get(column, row)) !== undefined) {
      found.push(column);
    }
  }
  return found;
}
