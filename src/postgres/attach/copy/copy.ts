import { definition } from "../../../schema/index.js";
import { plannedEachTime, quoteText } from "../../../store/postgres/index.js";
import { ownProperty } from "../../own-property.js";
import { type Attached, type contended, lastNote, moving } from "../changes/attached.js";
import { ChangedTable, type Content, type Followed, keyName, keyOf } from "../changes/changed-table.js";
import { largeRowReason, rowLimit } from "../changes/large-row.js";
import { isTooLarge, reasonOf, Unmovable } from "../changes/park.js";
import { quoteName } from "../table/definition.js";
import type { Tx } from "../table/source.js";
import { membersOf, shownText } from "../table/values.js";
import type { CopyPace } from "./copy-pace.js";

/** What one chunk may take into memory. A row that is larger comes alone. */
const maxBytes = 16 * 1024 * 1024;
/** Comparing a row takes less than copying it, and writes nothing if all is right. */
const prunedPerCopied = 5;
/** With more pending changes than this, the mover moves first: their keys are read for each chunk. */
const maxPending = 100_000;

/** Where a copy stands: the last copied key, then the last compared one. */
export interface Cursor {
  /** The `attachTables` that this copy belongs to. The first version did not record it. */
  readonly generation?: string | undefined;
  readonly phase: "copy" | "prune" | "done";
  readonly after?: readonly (string | null)[] | undefined;
  /**
   * The last key when the phase began. What writers add behind it is in the outbox, so a copy ends
   * however fast they append.
   */
  readonly until?: readonly (string | null)[] | undefined;
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
  /** Count of its changes that wait. */
  readonly pending: number;
}

/** A step of a copy. Without a cursor, the mover must move the pending changes first. */
interface Step {
  readonly next: Cursor | undefined;
  readonly pending: number;
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
  pace: CopyPace,
  isUrgent: boolean,
): Promise<Copied | typeof contended> {
  const limit = pace.rows(isUrgent ? 0 : followed.source.copyRest);
  try {
    return await moving(attached.database, "copy attached table", async (tx) => {
      // The mover's note: a transaction that moves changes meanwhile makes this one conflict.
      const last = await tx.note(lastNote);
      const cursor = await readCursor(tx, followed);
      if (cursor.phase === "done") return { cursor, hasMore: false, pending: 0 };
      const { next, pending } =
        cursor.phase === "copy"
          ? await copyRows(attached, followed, cursor, tx, limit)
          : await pruneRows(attached, followed, cursor, tx, limit * prunedPerCopied);
      if (next === undefined) return { cursor, hasMore: true, pending };
      tx.setNote(lastNote, last ?? Buffer.from("[]"));
      writeCursor(tx, followed, next);
      return { cursor: next, hasMore: next.phase !== "done", pending };
    });
  } catch (error) {
    if (isTooLarge(error) && limit > 1) {
      pace.tooLarge(limit);
      return await copyChunk(attached, followed, pace, isUrgent);
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
  readonly keys: ReadonlySet<string>;
  /** Count of the pending changes. */
  readonly pending: number;
  /** Whether the mover must move pending changes first. */
  readonly mustWait: boolean;
}

/** SQL rows and the keys of pending changes, in one snapshot. */
async function read(
  { connections, schema }: Attached,
  followed: Followed,
  rows: string,
  values: readonly unknown[],
): Promise<Read> {
  // The server cannot take a member of JSON in which \u0000 or half of a surrogate pair occurs, or, unless its
  // encoding is UTF-8, a character that the encoding lacks.
  const key = `case when octet_length(o.content::text) > ${rowLimit.maxBytes} then null
    when strpos(o.content::text, ${quoteText(String.raw`\u`)}) > 0 and (getdatabaseencoding() <> 'UTF8'
      or o.content::text ~* ${quoteText(String.raw`\\u(0000|d[89a-f])`)}) then o.content
    else json_build_object(${followed.keyColumns.map((name) => `${quoteText(name)}, o.content->${quoteText(name)}`).join(", ")}) end`;
  const query = plannedEachTime(`
    select case when not fits then 'x' when bytes > ${rowLimit.maxBytes} then 'l' else 's' end as kind,
      case when not fits then null when bytes > ${rowLimit.maxBytes} then to_json(bytes) else content end as content
    from (
      select content, bytes, sum(bytes) over w <= ${maxBytes} or row_number() over w = 1 as fits
      from (select c.content, octet_length(c.content::text) as bytes, row_number() over () as place
        from (${rows}) c) c
      window w as (order by place)
    ) s
    union all select 'p' || op::text, key from (
      select case when o.seq <= ${Number(followed.rewrittenAt ?? 0)} or octet_length(o.content::text) > ${rowLimit.maxBytes}
        then 't' else o.op end as op, ${key} as key
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
  const large = found.find(([kind]) => kind === "l");
  if (large !== undefined) {
    throw new Unmovable(followed, largeRowReason(followed.source.sql, Number(large[1])));
  }
  const pending = found.filter(([kind]) => kind!.startsWith("p"));
  const mustWait = pending.length > maxPending || pending.some(([kind]) => kind === "pt" || kind === "px");
  const content = ([, json]: (typeof found)[number]) => membersOf(json ?? "{}");
  return {
    rows: found.filter(([kind]) => kind === "s").map(content),
    isCut: found.some(([kind]) => kind === "x"),
    keys: new Set(mustWait ? [] : pending.map((row) => nameOf(followed, content(row)))),
    pending: pending.length,
    mustWait,
  };
}

const regclass = ({ source }: Followed) => `${quoteText(source.sql)}::regclass`;

const nameOf = (followed: Followed, content: Content) => keyName(followed, keyOf(followed, content));

async function copyRows(
  attached: Attached,
  followed: Followed,
  { after, until: known, rows: before = 0 }: Cursor,
  tx: Tx,
  limit: number,
): Promise<Step> {
  const { keyColumns, keyTypes, source } = followed;
  const until = known ?? (await lastKey(attached, followed));
  const keys = keyColumns.map((name) => `t.${quoteName(name)}`).join(", ");
  const values: (string | null)[] = [];
  const bounds = (bound: Cursor["after"], operator: string) => {
    if (bound === undefined) return [];
    const shown = keyTypes.map((type, i) => `$${values.push(bound[i]!)}::text::${type}`);
    return [`(${keys}) ${operator} (${shown.join(", ")})`];
  };
  const where = ["true", ...bounds(after, ">"), ...bounds(until, "<=")].join(" and ");
  const rows = `select ${attached.schema}.attached_row(t.*) as content from ${source.sql} t where ${where} order by ${keys} limit ${limit}`;
  const found = await read(attached, followed, rows, values);
  const { pending } = found;
  if (found.mustWait) return { next: undefined, pending };
  const settled = found.rows.filter((row) => !found.keys.has(nameOf(followed, row)));
  await new ChangedTable(tx, followed).apply(settled.map((content) => ({ op: "s", content })));
  const end = found.rows.at(-1);
  const copied = before + found.rows.length;
  if (end === undefined || (found.rows.length < limit && !found.isCut))
    return { next: { phase: "prune", rows: copied }, pending };
  return { next: { phase: "copy", after: keyTexts(followed, end), until, rows: copied }, pending };
}

const keyTexts = ({ keyColumns }: Followed, row: Content) => keyColumns.map((name) => shownText(row[name]!));

/** The last key of the SQL table. Undefined if it has no rows. */
async function lastKey({ connections, schema }: Attached, followed: Followed): Promise<Cursor["after"]> {
  const names = followed.keyColumns.map(quoteName);
  const query = plannedEachTime(
    `select ${schema}.attached_row(j.*) from (select ${names.join(", ")} from ${followed.source.sql}
     order by ${names.map((name) => `${name} desc`).join(", ")} limit 1) j`,
  );
  const [[json] = []] = await connections.repeat(query, [], "read the attached table");
  return typeof json === "string" ? keyTexts(followed, membersOf(json)) : undefined;
}

async function pruneRows(
  attached: Attached,
  followed: Followed,
  cursor: Cursor,
  tx: Tx,
  limit: number,
): Promise<Step> {
  const { after, until: known, rows: copied } = cursor;
  const { keyColumns, source } = followed;
  const key = source.target[definition].key;
  const last = known?.[0] ?? (await ourLastKey(tx, followed));
  if (typeof last !== "string") return { next: { phase: "done", rows: copied }, pending: 0 };
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
  if (ours.length === 0) return { next: { phase: "done", rows: copied }, pending: 0 };
  const texts = ours.map((row) =>
    (followed.hasTupleKey ? (row as readonly unknown[]) : [row]).map((part) =>
      part instanceof Uint8Array ? `\\x${Buffer.from(part).toString("hex")}` : String(part),
    ),
  );
  const on = keyColumns
    .map((name, i) => `t.${quoteName(name)} = ${ourKeyAs(followed, i, `k.key->>${i}`)}`)
    .join(" and ");
  const rows = `select ${attached.schema}.attached_row(j.*) as content from (
    select ${keyColumns.map((name) => `t.${quoteName(name)}`).join(", ")}
    from json_array_elements($1::json) k(key) join ${source.sql} t on ${on}) j`;
  const found = await read(attached, followed, rows, [JSON.stringify(texts)]);
  const { pending } = found;
  if (found.mustWait) return { next: undefined, pending };
  // A row that was left out must not look deleted.
  if (found.isCut) return await pruneRows(attached, followed, cursor, tx, Math.ceil(limit / 2));
  const kept = new Set([...found.rows.map((row) => nameOf(followed, row)), ...found.keys]);
  for (const row of ours) {
    if (!kept.has(keyName(followed, row))) await tx.deleteRow(source.target, row as never);
  }
  const end = ours.at(-1);
  const isLast = scanned <= limit || keyName(followed, end) >= keyName(followed, key.parse(last));
  if (isLast) return { next: { phase: "done", rows: copied }, pending };
  return { next: { phase: "prune", after: [key.format(end)], until: [last], rows: copied }, pending };
}

const uuid = "^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$";

/**
 * A part of a key of ours, in the type of its column now. The column may have had another type when the
 * row was copied. A text that is no value of the new type becomes NULL: no row of the SQL table has it.
 */
function ourKeyAs({ keyTypes, keyColumns, keyTags, enums }: Followed, i: number, text: string): string {
  const type = keyTypes[i]!;
  if (ownProperty(enums, keyColumns[i]!) !== undefined) {
    return `(select v from unnest(enum_range(null::${type})) v where v::text = ${text})`;
  }
  if (type === "uuid") return `case when ${text} ~ '${uuid}' then (${text})::uuid end`;
  // Every integer type is compared with it by index.
  if (keyTags[i] === "int") return `(${text})::bigint`;
  if (type === "bigint") {
    const inRange = `(${text})::numeric between -9223372036854775808 and 9223372036854775807`;
    return `case when ${text} ~ '^-?[0-9]{1,19}$' then case when ${inRange} then (${text})::bigint end end`;
  }
  return `(${text})::${type}`;
}

async function ourLastKey(tx: Tx, { source }: Followed): Promise<string | undefined> {
  for await (const { row } of tx.scan(source.target, { reverse: true, limit: 1 } as never)) {
    return source.target[definition].key.format(row);
  }
  return undefined;
}
