import type { MoveRequest } from "../../database/index.js";
import { SchemaError } from "../../errors/index.js";
import { type Setting, statement } from "../../store/postgres/index.js";
import { type Attached, lastNote, needSetting, stopped } from "./attached.js";
import { ChangedTable, type Followed, type Write } from "./changed-table.js";
import { copyChunk } from "./copy.js";
import { type AttachedSource, attachedSource } from "./source.js";

/** What one library transaction takes from the outbox, unless one SQL transaction is larger. */
const maxRows = 1_000;
/** What one SQL transaction may have before it arrives in pieces. */
const maxRowsOfOne = 100_000;
const maxGroups = 200;

/** A moved part of an SQL transaction: its id, and the last moved row. */
type Moved = readonly [xid: string, seq: string];

/**
 * Moves one batch of committed SQL transactions into cells, or copies one chunk of a table that is
 * not copied yet. docs/decisions/attached-tables.md says why each change arrives exactly once.
 */
export async function moveChanges(request: MoveRequest): Promise<boolean> {
  const setting = needSetting(request);
  const sources = request.tables.map(attachedSource).filter((each) => each !== undefined);
  const followed = await follow(setting, sources);
  const attached = { database: request.database, ...setting, followed };
  if (await moveBatch(attached)) return true;
  for (const each of followed.values()) if (await copyChunk(attached, each)) return true;
  return false;
}

async function follow(
  { connections, schema }: Setting,
  sources: readonly AttachedSource[],
): Promise<ReadonlyMap<string, Followed>> {
  const has = statement("select to_regclass($1) is not null");
  const [[exists] = []] = await connections.repeat(
    has,
    [`${schema}.attachments`],
    "look for attached tables",
  );
  const rows =
    exists === "t"
      ? await connections.repeat(
          statement(`select id, source, definition from ${schema}.attachments`),
          [],
          "read the attached tables",
        )
      : [];
  const followed = new Map<string, Followed>();
  for (const source of sources) {
    const row = rows.find(([, sql]) => sql === source.sql);
    if (row === undefined) {
      throw new SchemaError(
        `${source.sql} is not attached to this database yet. Call \`attachTables\` once.`,
      );
    }
    followed.set(row[0]!, { id: row[0]!, source, ...JSON.parse(row[2]!) });
  }
  return followed;
}

async function moveBatch(attached: Attached): Promise<boolean> {
  return await attached.database.transact(
    async (tx) => {
      // The conflict on this note keeps two processes from moving the same rows.
      const note = await tx.note(lastNote);
      const last: readonly Moved[] = note === undefined ? [] : JSON.parse(Buffer.from(note).toString());
      await forget(attached, last);
      const groups = await readGroups(attached);
      if (groups.length === 0) return false;
      const { moved, writes } = await readRows(attached, groups);
      for (const [id, changes] of writes) {
        const followed = attached.followed.get(id);
        if (followed === undefined) throw await unknownAttachment(attached, id);
        try {
          await new ChangedTable(tx, followed).apply(changes);
        } catch (error) {
          throw stopped(followed, error);
        }
      }
      tx.setNote(lastNote, Buffer.from(JSON.stringify(moved)));
      return true;
    },
    { label: "move attached tables" },
  );
}

/** Deletes rows that a committed transaction has moved. Its successor must not read them again. */
async function forget({ connections, schema }: Attached, last: readonly Moved[]): Promise<void> {
  if (last.length === 0) return;
  await connections.repeat(
    statement(
      `delete from ${schema}.outbox o using (select m->>0 as xid, (m->>1)::bigint as seq from json_array_elements($1::json) m) l
       where o.xid = l.xid::xid8 and o.seq <= l.seq`,
    ),
    [JSON.stringify(last)],
    "delete moved changes",
  );
}

/**
 * The oldest SQL transactions that fit into one library transaction. They are ordered by their last
 * row: a transaction that wrote a row after another one did, began that write after the other had
 * ended.
 */
async function readGroups({ connections, schema }: Attached): Promise<readonly string[]> {
  const rows = await connections.repeat(
    statement(`select xid, count(*) from ${schema}.outbox group by xid order by max(seq) limit ${maxGroups}`),
    [],
    "read changes",
  );
  const groups: string[] = [];
  let count = 0;
  for (const [xid, size] of rows) {
    count += Number(size);
    if (groups.length > 0 && count > maxRows) break;
    groups.push(xid!);
  }
  return groups;
}

/** The changes of the transactions in their order, by attachment, and what to note as moved. */
async function readRows(
  { connections, schema }: Attached,
  groups: readonly string[],
): Promise<{ readonly moved: readonly Moved[]; readonly writes: ReadonlyMap<string, readonly Write[]> }> {
  const read = statement(
    `select attachment, op, seq, (select json_object_agg(key, value) from json_each_text(content))
     from ${schema}.outbox where xid = $1::xid8 order by seq limit ${maxRowsOfOne}`,
  );
  const writes = new Map<string, Write[]>();
  const moved: Moved[] = [];
  for (const xid of groups) {
    const rows = await connections.repeat(read, [xid], "read changes");
    for (const [id, op, , content] of rows) {
      const of = writes.get(id!) ?? [];
      writes.set(id!, of);
      of.push({ op: op as Write["op"], content: content === null ? {} : JSON.parse(content!) });
    }
    if (rows.length > 0) moved.push([xid, rows.at(-1)![2]!]);
  }
  return { moved, writes };
}

async function unknownAttachment({ connections, schema }: Attached, id: string): Promise<SchemaError> {
  const [row] = await connections.repeat(
    statement(`select source from ${schema}.attachments where id = $1::integer`),
    [id],
    "read the attached tables",
  );
  return new SchemaError(
    `Changes of the attached table ${row?.[0] ?? `number ${id}`} wait, but this program does not declare it. ` +
      "Give it to `open` in `tables`, or detach it with `detachTable`.",
  );
}
