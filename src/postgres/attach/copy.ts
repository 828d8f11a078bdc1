import { definition } from "../../schema/index.js";
import { statement } from "../../store/postgres/index.js";
import { type Attached, type contended, lastNote, moving } from "./attached.js";
import { ChangedTable, type Content, type Followed, keyName, keyOf } from "./changed-table.js";
import { quoteName } from "./definition.js";
import { isTooLarge, reasonOf, Unmovable } from "./park.js";
import type { Tx } from "./source.js";
import { membersOf, shownText } from "./values.js";

const chunkRows = 500;
/** What one chunk may take into memory. A row that is larger comes alone. */
const maxBytes = 16 * 1024 * 1024;
/** With more pending changes than this, the mover moves first. */
const maxPending = 10_000;

/** Where a copy stands: the last copied key, then the last compared one. */
export interface Cursor {
  /** The `attachTables` that this copy belongs to. The first version did not record it. */
  readonly generation?: string | undefined;
  readonly phase: "copy" | "prune" | "done";
  readonly after?: readonly (string | null)[] | undefined;
  /** Count of the copied rows. */
  readonly rows?: number | undefined;
}

const noteOf = ({ id }: Pick<Followed, "id">) => `attached/${id}/copied`;

/** Where the copy of a table stands. */
export async function readCursor(
  tx: Pick<Tx, "note">,
  attachment: Pick<Followed, "id" | "generation">,
): Promise<Cursor> {
  const note = await tx.note(noteOf(attachment));
  const cursor = note === undefined ? undefined : (JSON.parse(Buffer.from(note).toString()) as Cursor);
  const isOwn = (cursor?.generation ?? "0") === attachment.generation;
  return cursor !== undefined && isOwn ? cursor : { phase: "copy", rows: 0 };
}

function writeCursor(tx: Tx, followed: Followed, cursor: Cursor): void {
  const { generation } = followed;
  tx.setNote(noteOf(followed), Buffer.from(JSON.stringify({ ...cursor, generation })));
}

/** Lets the copy delete rows that the SQL table does not have, after a large `TRUNCATE`. */
export async function compareAgain(tx: Tx, followed: Followed): Promise<void> {
  const cursor = await readCursor(tx, followed);
  // A copy that has not ended compares afterwards anyway.
  if (cursor.phase !== "copy") writeCursor(tx, followed, { phase: "prune", rows: cursor.rows });
}

/** What {@link copyChunk} did. */
export interface Copied {
  readonly cursor: Cursor;
  /** Whether the table is not complete. */
  readonly hasMore: boolean;
}

/**
 * Copies the next rows of a table. When all are copied, deletes rows of ours that the SQL table does
 * not have.
 *
 * One statement reads the rows and the pending changes. A row with pending changes is left out: it
 * arrives with them, together with the other rows of its transaction.
 */
export async function copyChunk(
  attached: Attached,
  followed: Followed,
  limit = chunkRows,
): Promise<Copied | typeof contended> {
  try {
    return await moving(attached.database, "copy attached table", async (tx) => {
      // The mover's note: a transaction that moves changes meanwhile makes this one conflict.
      const last = await tx.note(lastNote);
      const cursor = await readCursor(tx, followed);
      if (cursor.phase === "done") return { cursor, hasMore: false };
      const step = cursor.phase === "copy" ? copyRows : pruneRows;
      const next = await step(attached, followed, cursor, tx, limit);
      // The mover moves the pending changes first.
      if (next === undefined) return { cursor, hasMore: true };
      tx.setNote(lastNote, last ?? Buffer.from("[]"));
      writeCursor(tx, followed, next);
      return { cursor: next, hasMore: next.phase !== "done" };
    });
  } catch (error) {
    if (isTooLarge(error) && limit > 1) {
      return await copyChunk(attached, followed, Math.ceil(limit / 8));
    }
    const { sql } = followed.source;
    const reason = isTooLarge(error) ? `A row of ${sql}: ${(error as Error).message}` : reasonOf(sql, error);
    throw reason === undefined ? error : new Unmovable(followed, reason, error);
  }
}

interface Read {
  readonly rows: readonly Content[];
  /** Whether further rows were left out, because the chunk would be too large. */
  readonly isCut: boolean;
  /** The keys of pending changes. */
  readonly pending: ReadonlySet<string>;
}

/**
 * SQL rows and the keys of pending changes, in one snapshot. Undefined if the mover must move
 * pending changes first.
 */
async function read(
  { connections, schema }: Attached,
  followed: Followed,
  rows: string,
  values: readonly unknown[],
): Promise<Read | undefined> {
  const query = statement(`
    select case when fits then 's' else 'x' end as kind, case when fits then content end as content from (
      select content, sum(octet_length(content::text)) over w <= ${maxBytes} or row_number() over w = 1 as fits
      from (select c.content, row_number() over () as place
        from (${rows}) c) c
      window w as (order by place)
    ) s
    union all select 'p' || op::text, content from (
      select o.op, o.content
      from ${schema}.outbox o join ${schema}.attachments a on a.id = o.attachment and o.seq > a.since
      where o.attachment = ${Number(followed.id)} limit ${maxPending + 1}
    ) p
    union all select 'r', null where row_security_active(${regclass(followed)})`);
  const found = await connections.repeat(query, values, "read the attached table");
  if (found.some(([kind]) => kind === "r")) {
    throw new Unmovable(
      followed,
      `Row-level security hides rows of ${followed.source.sql} from this role: give it BYPASSRLS, or a policy is not for it.`,
    );
  }
  const pending = found.filter(([kind]) => kind!.startsWith("p"));
  if (pending.length > maxPending || pending.some(([kind]) => kind === "pt")) return undefined;
  const content = ([, json]: (typeof found)[number]) => membersOf(json ?? "{}");
  return {
    rows: found.filter(([kind]) => kind === "s").map(content),
    isCut: found.some(([kind]) => kind === "x"),
    pending: new Set(pending.map((row) => nameOf(followed, content(row)))),
  };
}

const regclass = ({ source }: Followed) => `'${source.sql.replaceAll("'", "''")}'::regclass`;

const nameOf = (followed: Followed, content: Content) => keyName(followed, keyOf(followed, content));

async function copyRows(
  attached: Attached,
  followed: Followed,
  { after, rows: before = 0 }: Cursor,
  tx: Tx,
  limit: number,
): Promise<Cursor | undefined> {
  const { keyColumns, keyTypes, source } = followed;
  const keys = keyColumns.map((name) => `t.${quoteName(name)}`).join(", ");
  const bounds = keyTypes.map((type, i) => `$${i + 1}::text::${type}`).join(", ");
  const where = after === undefined ? "" : `where (${keys}) > (${bounds})`;
  const rows = `select ${attached.schema}.attached_row(t.*) as content from ${source.sql} t ${where} order by ${keys} limit ${limit}`;
  const found = await read(attached, followed, rows, after ?? []);
  if (found === undefined) return undefined;
  const settled = found.rows.filter((row) => !found.pending.has(nameOf(followed, row)));
  await new ChangedTable(tx, followed).apply(settled.map((content) => ({ op: "s", content })));
  const end = found.rows.at(-1);
  const copied = before + found.rows.length;
  // A short chunk is the last one, also if writers go on: their rows are in the outbox.
  if (end === undefined || (found.rows.length < limit && !found.isCut))
    return { phase: "prune", rows: copied };
  return { phase: "copy", after: keyColumns.map((name) => shownText(end[name]!)), rows: copied };
}

async function pruneRows(
  attached: Attached,
  followed: Followed,
  { after, rows: copied }: Cursor,
  tx: Tx,
  limit: number,
): Promise<Cursor | undefined> {
  const { keyColumns, keyTypes, source } = followed;
  const key = source.target[definition].key;
  const start = after?.[0];
  // One more, because `start` is inclusive and its row was compared in the previous chunk.
  const options = {
    limit: limit + 1,
    ...(typeof start === "string" ? { start: key.parse(start) } : {}),
  };
  const ours: unknown[] = [];
  let scanned = 0;
  for await (const { row } of tx.scan(source.target, options as never)) {
    scanned++;
    if (key.format(row) !== start) ours.push(row);
  }
  if (ours.length === 0) return { phase: "done", rows: copied };
  const texts = ours.map((row) =>
    (followed.hasTupleKey ? (row as readonly unknown[]) : [row]).map((part) =>
      part instanceof Uint8Array ? `\\x${Buffer.from(part).toString("hex")}` : String(part),
    ),
  );
  const on = keyColumns
    .map((name, i) => `t.${quoteName(name)} = (k.key->>${i})::${keyTypes[i]}`)
    .join(" and ");
  const rows = `select ${attached.schema}.attached_row(j.*) as content from (
    select ${keyColumns.map((name) => `t.${quoteName(name)}`).join(", ")}
    from json_array_elements($1::json) k(key) join ${source.sql} t on ${on}) j`;
  const found = await read(attached, followed, rows, [JSON.stringify(texts)]);
  if (found === undefined) return undefined;
  const kept = new Set([...found.rows.map((row) => nameOf(followed, row)), ...found.pending]);
  for (const row of ours) {
    if (!kept.has(keyName(followed, row))) await tx.deleteRow(source.target, row as never);
  }
  // A short chunk is the last one, also if the mover goes on: what it adds is right.
  if (scanned <= limit) return { phase: "done", rows: copied };
  return { phase: "prune", after: [key.format(ours.at(-1))], rows: copied };
}
