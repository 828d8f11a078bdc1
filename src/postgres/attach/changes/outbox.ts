import { plannedEachTime, type Setting, type Statement } from "../../../store/postgres/index.js";
import { membersOf } from "../table/values.js";
import type { Attached } from "./attached.js";
import type { Write } from "./changed-table.js";
import { rowLimit } from "./large-row.js";
import { reasonOf, stateOf, Unmovable } from "./park.js";

/** A moved part of an SQL transaction: its id, and the last moved row. */
export type Moved = readonly [xid: string, seq: string];

/** How much one library transaction takes from the outbox. */
export interface BatchSize {
  /** Rows, unless one SQL transaction has more. */
  readonly rows: number;
  /** Rows of one SQL transaction, which else arrives in pieces. */
  readonly rowsOfOne: number;
}

/** Changes in their order, by attachment, and what to note as moved. */
export interface Batch {
  readonly moved: readonly Moved[];
  readonly writes: ReadonlyMap<string, readonly Write[]>;
  readonly rows: number;
  /** Whether more changes wait. */
  readonly isFull: boolean;
  /** Whether a followed table was attached again before the changes were read, maybe with other columns. */
  readonly isStale: boolean;
}

/** As many as rows, because most transactions change one row. */
const maxGroups = 1_000;
/** So many transactions are remembered when the whole outbox had to be read. */
const maxListed = 20_000;
/** What one batch may take into memory. A row that is larger comes alone. */
const maxBytes = 64 * 1024 * 1024;
const purgedRows = 10_000;

/**
 * Whether somebody needs the row `o` of the outbox, as a condition. It is no join, because the server
 * takes a join with a few attachments for rare: then it reads and sorts the whole outbox for the first rows.
 */
export const isLive = (schema: string) =>
  `coalesce((select o.seq > a.since and a.error is null from ${schema}.attachments a where a.id = o.attachment), false)`;

/** Deletes rows that a committed transaction has moved. Its successor must not read them again. */
export async function forget({ connections, schema }: Setting, last: readonly Moved[]): Promise<void> {
  if (last.length === 0) return;
  await connections.repeat(
    // Row by row through the index, whatever the server estimates: nothing updates these rows. It does
    // not wait for the disk: if a crash undoes it, the next mover repeats it.
    plannedEachTime(
      `delete from ${schema}.outbox where ctid = any(array(
         select o.ctid from json_array_elements($1::json) m cross join lateral (
           select ctid from ${schema}.outbox
           where xid = (m->>0)::xid8 and seq <= (m->>1)::bigint order by seq offset 0) o
         where set_config('synchronous_commit', 'off', true) is not null))`,
    ),
    [JSON.stringify(last)],
    "delete moved changes",
  );
}

/**
 * Deletes some of the changes that nobody needs: of a parked table, from before a table was attached again, and
 * of a detached table. Reads the whole outbox. Resolves to whether more may be left, except for those that
 * writers of a parked table add meanwhile.
 */
export async function purge({ connections, schema }: Setting): Promise<boolean> {
  const rows = await connections.repeat(
    plannedEachTime(
      // It counts what it has chosen. Another purge may have chosen and deleted the same rows.
      `with chosen as materialized (select array(
         select o.ctid from ${schema}.outbox o where not ${isLive(schema)} limit ${purgedRows}) as ctids),
       gone as (delete from ${schema}.outbox where ctid = any((select ctids from chosen)::tid[]))
       select cardinality(ctids) from chosen`,
    ),
    [],
    "delete obsolete changes",
  );
  return Number(rows[0]![0]) === purgedRows;
}

/** The oldest SQL transactions that fit into one library transaction. */
export async function readBatch(attached: Attached, size: BatchSize): Promise<Batch> {
  const { connections } = attached;
  const torn = tornOnes.get(connections);
  if (torn !== undefined) {
    tornOnes.delete(connections);
    const groups = await readOthers(attached, torn, size);
    const batch = groups.length === 0 ? undefined : await readRows(attached, groups, size);
    if (batch !== undefined && batch.rows > 0) return { ...batch, isFull: true };
  }
  const listed = lists.get(connections);
  const { groups, isCut } =
    listed === undefined ? await readGroups(attached) : { groups: listed, isCut: false };
  const chosen: Group[] = [];
  let count = 0;
  for (const group of groups.slice(0, maxGroups)) {
    count += group.rows;
    if (chosen.length > 0 && count > size.rows) break;
    chosen.push(group);
  }
  if (chosen.length === 0) return { moved: [], writes: new Map(), rows: 0, isFull: false, isStale: false };
  const batch = await readRows(attached, chosen, size);
  if (listed !== undefined && batch.rows === 0) {
    // Another process has moved them.
    lists.delete(connections);
    return await readBatch(attached, size);
  }
  return { ...batch, isFull: batch.isFull || isCut || chosen.length < groups.length };
}

/** An SQL transaction with changes that wait. */
interface Group {
  readonly xid: string;
  readonly rows: number;
}

/**
 * The transactions that wait, if the whole outbox had to be read for them. A transaction that commits
 * later comes after them in any case: if it writes a row of one of them, then that one had ended.
 */
const lists = new WeakMap<Setting["connections"], readonly Group[]>();

/** Takes what was moved off the list of transactions that wait. */
export function strike({ connections }: Setting, { moved, rows }: Batch): void {
  const listed = lists.get(connections);
  if (listed === undefined) return;
  const xids = new Set(moved.map(([xid]) => xid));
  const rest: Group[] = [];
  for (const group of listed) {
    if (!xids.has(group.xid)) rest.push(group);
    else if (moved.length === 1 && group.rows > rows) {
      rest.push({ ...group, rows: group.rows - rows });
      tornOnes.set(connections, group.xid);
    }
  }
  if (rest.length > 0) lists.set(connections, rest);
  else lists.delete(connections);
}

/** A transaction of which a piece was moved just now: others may come before its next piece. */
const tornOnes = new WeakMap<Setting["connections"], string>();

/**
 * Transactions that may overtake one that arrives in pieces: they changed none of its tables, and none
 * of the tables of other transactions that stay behind. So each table's changes keep their order.
 */
async function readOthers(
  { connections, schema }: Attached,
  torn: string,
  size: BatchSize,
): Promise<readonly Group[]> {
  const live = isLive(schema);
  // All others, and not only those after its last row: one that committed late may be among its rows.
  const others = plannedEachTime(
    `with other as (
         select o.xid, o.seq, o.attachment from ${schema}.outbox o where o.xid < $1::xid8 and ${live}
         union all
         select o.xid, o.seq, o.attachment from ${schema}.outbox o where o.xid > $1::xid8 and ${live}),
       first as materialized (select xid, seq, attachment from other order by seq limit ${nearRows}),
       last as (select max(seq) as seq, count(*) = ${nearRows} as is_cut from first)
     select f.xid, count(*), string_agg(distinct f.attachment::text, ' ') from first f, last
     where not last.is_cut or not exists (
       select from ${schema}.outbox l where l.xid = f.xid and l.seq > last.seq)
     group by f.xid order by max(f.seq) limit ${maxGroups}`,
  );
  const found = await connections.repeat(others, [torn], "read changes");
  if (found.length === 0) return [];
  const own = plannedEachTime(
    `select distinct o.attachment from ${schema}.outbox o where o.xid = $1::xid8 and ${live}`,
  );
  const blocked = new Set((await connections.repeat(own, [torn], "read changes")).map(([id]) => id!));
  const chosen: Group[] = [];
  let count = 0;
  for (const [xid, rows, ids] of found) {
    const tables = ids!.split(" ");
    if (tables.some((id) => blocked.has(id))) {
      for (const id of tables) blocked.add(id);
      continue;
    }
    count += Number(rows);
    if (count > size.rows && chosen.length > 0) break;
    chosen.push({ xid: xid!, rows: Number(rows) });
  }
  return chosen;
}

/** Looking at so many rows is cheap. */
const nearRows = 2_000;

/**
 * The SQL transactions that wait, oldest first. They are ordered by their last row: a transaction
 * that wrote a row after another one did, began that write after the other had ended. `isCut`: whether
 * more wait than it has looked at.
 */
async function readGroups({
  connections,
  schema,
}: Attached): Promise<{ readonly groups: readonly Group[]; readonly isCut: boolean }> {
  // Transactions that end within the first rows of the outbox come before all others. Looking at
  // these alone keeps a long outbox from being read again for each batch.
  const near = plannedEachTime(
    `with first as materialized (
         select o.xid, o.seq from ${schema}.outbox o where ${isLive(schema)} order by o.seq limit ${nearRows}),
       last as (select max(seq) as seq, count(*) = ${nearRows} as is_cut from first)
     select f.xid, count(*), max(f.seq), bool_or(last.is_cut) from first f, last where not last.is_cut or not exists (
       select from ${schema}.outbox l where l.xid = f.xid and l.seq > last.seq)
     group by f.xid order by 3 limit ${maxGroups + 1}`,
  );
  const groups = async (query: Statement) =>
    (await connections.repeat(query, [], "read changes")).map(([xid, count, , isCut]) => ({
      xid: xid!,
      rows: Number(count),
      isCut: isCut === "t",
    }));
  const first = await groups(near);
  if (first.length > 0) return { groups: first, isCut: first[0]!.isCut };
  const all = await groups(
    plannedEachTime(
      `select o.xid, count(*), max(o.seq), false from ${schema}.outbox o where ${isLive(schema)}
       group by o.xid order by 3 limit ${maxListed}`,
    ),
  );
  if (all.length > 0) lists.set(connections, all);
  return { groups: all, isCut: false };
}

/** The changes of the groups. Only the first group may come in pieces. */
async function readRows(attached: Attached, groups: readonly Group[], size: BatchSize): Promise<Batch> {
  const rows = await readLogged(attached, groups, size).catch(async (error: unknown) => {
    if (hasBadText(error)) await findUnreadable(attached, groups, size);
    throw error;
  });
  const writes = new Map<string, Write[]>();
  const moved: Moved[] = [];
  let isStale = false;
  let at = 0;
  for (const [place, { xid, rows: expected }] of groups.entries()) {
    const end = rows.findIndex((row, i) => i >= at && row[0] !== xid);
    const own = rows.slice(at, end === -1 ? rows.length : end);
    if (own.length === 0 || (place > 0 && own.length < expected)) break;
    for (const [, id, op, , content, bytes, generation] of own) {
      isStale ||= (attached.followed.get(id!)?.generation ?? generation) !== generation;
      const of = writes.get(id!) ?? [];
      writes.set(id!, of);
      const tooLargeBytes = typeof bytes === "string" ? Number(bytes) : undefined;
      of.push({ op: op as Write["op"], content: membersOf(content ?? "{}"), tooLargeBytes });
    }
    moved.push([xid, own.at(-1)![3]!]);
    at += own.length;
  }
  const isWhole = moved.length === groups.length && at >= (groups[0]?.rows ?? 0);
  return { moved, writes, rows: at, isFull: !isWhole, isStale };
}

/** Rows of the outbox that belong to the groups. `only`: a condition on the row `o`. */
async function readLogged(
  { connections, schema }: Attached,
  groups: readonly Group[],
  size: BatchSize,
  only = "true",
) {
  const most = Math.max(size.rowsOfOne, size.rows);
  // One transaction may be very large. Its index has the order already.
  const chosen =
    groups.length === 1
      ? "(select $1::json->>0 as xid, 1 as place) g"
      : "json_array_elements_text($1::json) with ordinality g(xid, place)";
  // Through the index of transactions, which has each one's order, whatever the server estimates.
  const read = plannedEachTime(
    `select xid, attachment, op, seq, case when bytes <= ${rowLimit.maxBytes} then content end,
       case when bytes > ${rowLimit.maxBytes} then bytes end,
       (select a.generation from ${schema}.attachments a where a.id = s.attachment) from (
       select *, sum(bytes) over w as total, row_number() over w as nth from (
         select o.xid, g.place, o.attachment, o.op, o.seq, o.content, coalesce(octet_length(o.content::text), 0) as bytes
         from ${chosen} cross join lateral (
           select * from ${schema}.outbox o where o.xid = g.xid::xid8 and ${only} and ${isLive(schema)}
           order by o.seq limit ${most}) o
         order by g.place, o.seq limit ${most}
       ) r window w as (order by place, seq)
     ) s where total <= ${maxBytes} or nth = 1 order by place, seq`,
  );
  const values = [JSON.stringify(groups.map(({ xid }) => xid))];
  return await connections.repeat(read, values, "read changes");
}

/** Whether the server could not show a text: one of another encoding may not be valid in UTF-8. */
const hasBadText = (error: unknown) => stateOf(error)?.startsWith("22") === true;

/** Reads the groups table by table, and throws {@link Unmovable} for the first one that cannot be read. */
async function findUnreadable(attached: Attached, groups: readonly Group[], size: BatchSize): Promise<void> {
  for (const attachment of attached.attachments) {
    try {
      await readLogged(attached, groups, size, `o.attachment = ${Number(attachment.id)}`);
    } catch (error) {
      if (!hasBadText(error)) throw error;
      throw new Unmovable(attachment, reasonOf(attachment.sql, error)!, error);
    }
  }
}
