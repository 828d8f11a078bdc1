import { definition, encodeRow } from "../../schema/index.js";
import { statement } from "../../store/postgres/index.js";
import { type Attached, lastNote, stopped } from "./attached.js";
import { ChangedTable, type Content, type Followed, keyOf } from "./changed-table.js";
import { quoteName } from "./definition.js";

const chunkRows = 500;
/** With more pending changes than this, the mover moves first. */
const maxPending = 10_000;

/** Where a copy stands: the last copied key, then the last compared one. */
interface Cursor {
  readonly phase: "copy" | "prune" | "done";
  readonly after?: readonly (string | null)[] | undefined;
}

/**
 * Copies the next rows of a table. When all are copied, deletes rows of ours that the SQL table does
 * not have. Resolves to false if the table is complete, or must wait for the mover.
 *
 * One statement reads the rows and the pending changes. A row with pending changes is left out: it
 * arrives with them, together with the other rows of its transaction.
 */
export async function copyChunk(attached: Attached, followed: Followed): Promise<boolean> {
  const name = `attached/${followed.id}/copied`;
  return await attached.database.transact(
    async (tx) => {
      // The mover's note: a transaction that moves changes meanwhile makes this one conflict.
      const last = await tx.note(lastNote);
      const note = await tx.note(name);
      const cursor: Cursor =
        note === undefined ? { phase: "copy" } : JSON.parse(Buffer.from(note).toString());
      if (cursor.phase === "done") return false;
      const step = cursor.phase === "copy" ? copyRows : pruneRows;
      const next = await step(attached, followed, cursor, tx).catch((error: unknown) => {
        throw stopped(followed, error);
      });
      // The mover moves the pending changes first.
      if (next === undefined) return true;
      tx.setNote(lastNote, last ?? Buffer.from("[]"));
      tx.setNote(name, Buffer.from(JSON.stringify(next)));
      return true;
    },
    { label: "copy attached table" },
  );
}

type Tx = ConstructorParameters<typeof ChangedTable>[0];

const keyName = (followed: Followed, content: Content) =>
  Buffer.from(encodeRow(followed.source.target[definition], keyOf(followed, content))).toString("latin1");

/** SQL rows and the keys of pending changes, in one snapshot. */
async function read(
  { connections, schema }: Attached,
  followed: Followed,
  rows: string,
  values: readonly unknown[],
): Promise<{ readonly rows: readonly Content[]; readonly pending: ReadonlySet<string> } | undefined> {
  const asText = (json: string) => `(select json_object_agg(key, value) from json_each_text(${json}))`;
  const text = `
    select 's', ${asText("c.content")} from (${rows}) c
    union all select op::text, content from (
      select op, ${asText("content")} as content from ${schema}.outbox
      where attachment = ${Number(followed.id)} limit ${maxPending + 1}
    ) p`;
  const marked = text.replace("select op::text,", "select 'p' || op::text,");
  const found = await connections.repeat(statement(marked), values, "read the attached table");
  const pending = found.filter(([kind]) => kind !== "s");
  if (pending.length > maxPending || pending.some(([kind]) => kind === "pt")) return undefined;
  const content = ([, json]: (typeof found)[number]) => JSON.parse(json!) as Content;
  return {
    rows: found.filter(([kind]) => kind === "s").map(content),
    pending: new Set(pending.map((row) => keyName(followed, content(row)))),
  };
}

async function copyRows(
  attached: Attached,
  followed: Followed,
  { after }: Cursor,
  tx: Tx,
): Promise<Cursor | undefined> {
  const { keyColumns, keyTypes, source } = followed;
  const keys = keyColumns.map((name) => `t.${quoteName(name)}`).join(", ");
  const bounds = keyTypes.map((type, i) => `$${i + 1}::text::${type}`).join(", ");
  const where = after === undefined ? "" : `where (${keys}) > (${bounds})`;
  const rows = `select ${attached.schema}.attached_row(t) as content from ${source.sql} t ${where} order by ${keys} limit ${chunkRows}`;
  const found = await read(attached, followed, rows, after ?? []);
  if (found === undefined) return undefined;
  const settled = found.rows.filter((row) => !found.pending.has(keyName(followed, row)));
  await new ChangedTable(tx, followed).apply(settled.map((content) => ({ op: "s", content })));
  const end = found.rows.at(-1);
  return end === undefined
    ? { phase: "prune" }
    : { phase: "copy", after: keyColumns.map((name) => end[name]!) };
}

async function pruneRows(
  attached: Attached,
  followed: Followed,
  { after }: Cursor,
  tx: Tx,
): Promise<Cursor | undefined> {
  const { keyColumns, keyTypes, source } = followed;
  const key = source.target[definition].key;
  const start = after?.[0];
  // One more, because `start` is inclusive and its row was compared in the previous chunk.
  const options = {
    limit: chunkRows + 1,
    ...(typeof start === "string" ? { start: key.parse(start) } : {}),
  };
  const ours: unknown[] = [];
  for await (const { row } of tx.scan(source.target, options as never)) {
    if (key.format(row) !== start) ours.push(row);
  }
  if (ours.length === 0) return { phase: "done" };
  const texts = ours.map((row) =>
    (followed.hasTupleKey ? (row as readonly unknown[]) : [row]).map((part) =>
      part instanceof Uint8Array ? `\\x${Buffer.from(part).toString("hex")}` : String(part),
    ),
  );
  const on = keyColumns
    .map((name, i) => `t.${quoteName(name)} = (k.key->>${i})::${keyTypes[i]}`)
    .join(" and ");
  const rows = `select ${attached.schema}.attached_row(t) as content
    from json_array_elements($1::json) k(key) join ${source.sql} t on ${on}`;
  const found = await read(attached, followed, rows, [JSON.stringify(texts)]);
  if (found === undefined) return undefined;
  const kept = new Set([...found.rows.map((row) => keyName(followed, row)), ...found.pending]);
  for (const row of ours) {
    const name = Buffer.from(encodeRow(source.target[definition], row)).toString("latin1");
    if (!kept.has(name)) await tx.deleteRow(source.target, row as never);
  }
  return { phase: "prune", after: [key.format(ours.at(-1))] };
}
