import type { MoveRequest } from "../../database/index.js";
import { plannedEachTime, statement } from "../../store/postgres/index.js";
import { needSetting } from "./changes/attached.js";
import { follow } from "./changes/follow.js";
import { isLive } from "./changes/outbox.js";
import { readCursor } from "./copy/copy.js";
import { attachedSource } from "./table/source.js";

/**
 * Remembers which changes are committed. The result says whether all of them are moved, and all
 * tables are copied. A transaction that is under way now may log an older number, and commit later:
 * it does not count.
 */
export async function markChanges(request: MoveRequest): Promise<() => Promise<boolean>> {
  const setting = needSetting(request);
  const { connections, schema } = setting;
  const doing = "look for changes";
  const has = statement("select to_regclass($1) is not null");
  const [[exists] = []] = await connections.repeat(has, [`${schema}.outbox_xid_seq`], doing);
  // Without this index nothing is attached, or by an earlier version: then nothing is moved.
  if (exists !== "t") return async () => true;
  const newest = plannedEachTime(`select coalesce(max(seq), 0), pg_current_snapshot() from ${schema}.outbox`);
  const [[seq, snapshot] = []] = await connections.repeat(newest, [], doing);
  const waits = plannedEachTime(
    `select exists (select from ${schema}.outbox o
     where ${isLive(schema)} and o.seq <= $1::bigint and pg_visible_in_snapshot(o.xid, $2::pg_snapshot))`,
  );
  return async () => {
    const [[isWaiting] = []] = await connections.repeat(waits, [seq, snapshot], doing);
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
