import type { MoveRequest } from "../../database/index.js";
import { statement } from "../../store/postgres/index.js";
import { needSetting } from "./attached.js";
import { readCursor } from "./copy.js";
import { follow } from "./follow.js";
import { live } from "./outbox.js";
import { attachedSource } from "./source.js";

/**
 * Remembers the newest change. The result says whether all changes up to it are moved, and all
 * tables are copied.
 */
export async function markChanges(request: MoveRequest): Promise<() => Promise<boolean>> {
  const setting = needSetting(request);
  const { connections, schema } = setting;
  const doing = "look for changes";
  const has = statement("select to_regclass($1) is not null");
  const [[exists] = []] = await connections.repeat(has, [`${schema}.outbox_xid_seq`], doing);
  // Without this index nothing is attached, or by an earlier version: then nothing is moved.
  if (exists !== "t") return async () => true;
  const newest = statement(`select coalesce(max(seq), 0) from ${schema}.outbox`);
  const [[seq] = []] = await connections.repeat(newest, [], doing);
  const waits = statement(`select exists (select from ${live(schema)} where o.seq <= $1::bigint)`);
  return async () => {
    const [[isWaiting] = []] = await connections.repeat(waits, [seq], doing);
    if (isWaiting === "t") return false;
    const sources = request.tables.map(attachedSource).filter((each) => each !== undefined);
    const { followed } = await follow(setting, sources);
    return await request.database.transact(async (tx) => {
      for (const each of followed.values()) {
        if ((await readCursor(tx, each)).phase !== "done") return false;
      }
      return true;
    });
  };
}
