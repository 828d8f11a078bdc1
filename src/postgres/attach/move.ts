import type { MoveOutcome, MoveRequest } from "../../database/index.js";
import { OneAtATime } from "../../environment/index.js";
import { SchemaError } from "../../errors/index.js";
import type { Setting } from "../../store/postgres/index.js";
import { type Attached, contended, lastNote, moving, needSetting } from "./changes/attached.js";
import { ChangedTable, type Write } from "./changes/changed-table.js";
import { completeTablesOf } from "./changes/complete-tables.js";
import { follow } from "./changes/follow.js";
import {
  type Batch,
  type BatchSize,
  forget,
  type Moved,
  purge,
  readBatch,
  strike,
} from "./changes/outbox.js";
import { isTooLarge, park, reasonOf, Unmovable } from "./changes/park.js";
import { compareAgain, copyChunk } from "./copy/copy.js";
import { type ChunkOutcome, type CopyPace, paceOf } from "./copy/copy-pace.js";
import { restAfterMove } from "./move-rest.js";
import { attachedSource, type Tx } from "./table/source.js";

/** What one library transaction takes from the outbox, unless it is too large for one. */
const wholeSize: BatchSize = { rows: 1_000, rowsOfOne: 100_000 };

/**
 * Moves one batch of committed SQL transactions into cells, and copies one chunk of a table that is
 * not copied yet. A table whose change cannot be moved is parked, and the others go on.
 * docs/decisions/attached-tables.md says why each change arrives exactly once.
 */
export async function moveChanges(request: MoveRequest): Promise<MoveOutcome> {
  const { connections } = needSetting(request);
  const turns = turnsOf.get(connections) ?? new OneAtATime();
  turnsOf.set(connections, turns);
  return await turns.run(() => moveOnce(request), undefined, "Moving changes");
}

/** Moves of one process run one after another: two at once would only conflict. */
const turnsOf = new WeakMap<Setting["connections"], OneAtATime>();

/** While a copy rests, changes are looked for this often: most looks find none, and cost little. */
const lookMs = 50;

async function moveOnce(request: MoveRequest): Promise<MoveOutcome> {
  const setting = needSetting(request);
  const sources = request.tables.map(attachedSource).filter((each) => each !== undefined);
  const attached = { database: request.database, ...setting, ...(await follow(setting, sources)) };
  const { problems } = attached;
  const { environment } = setting.connections;
  const from = environment.monotonic();
  const gatherMs = () => restAfterMove(environment.monotonic() - from);
  const isAny = attached.attachments.some(({ recorded }) => recorded !== undefined);
  const outcome = (moved: boolean, restMs = 0) => ({ moved, restMs, isContended: false, problems });
  const contention = { ...outcome(true), isContended: true };
  if (!isAny) return outcome(false);
  try {
    const batch = await moveBatch(attached);
    if (batch === contended) return contention;
    const pace = paceOf(setting);
    pace.moved(batch.rows);
    const { isUrgent = false } = request;
    const waitMs = pace.waitMs(isUrgent, batch.isFull);
    if (batch.isFull && waitMs > 0) return outcome(true);
    if (waitMs > 0) return outcome(true, Math.min(batch.rows > 0 ? gatherMs() : lookMs, waitMs));
    const { hasMore, isContended } = await pace.run(() => copyNext(attached, pace, isUrgent));
    if (isContended) return contention;
    const isBusy = (await purgeNext(attached, batch.isFull)) || hasMore || batch.isFull;
    return outcome(isBusy || batch.rows > 0, isBusy ? 0 : gatherMs());
  } catch (error) {
    if (!(error instanceof Unmovable)) throw error;
    await park(setting, error.table, error.message);
    // The next call reports it, and moves the other tables.
    return outcome(true);
  }
}

/** Copies a chunk of the first table that is not complete. */
async function copyNext(
  attached: Attached,
  pace: CopyPace,
  isUrgent: boolean,
): Promise<ChunkOutcome & { readonly isContended: boolean }> {
  const complete = completeTablesOf(attached);
  for (const each of attached.followed.values()) {
    if (!isUrgent && complete.has(each)) continue;
    const rest = each.source.copyRest;
    const copied = await copyChunk(attached, each, pace, isUrgent);
    if (copied !== contended && !copied.hasMore) complete.add(each);
    if (copied === contended) return { hasMore: true, isContended: true, pending: 0, rest };
    if (copied.hasMore) return { ...copied, isContended: false, rest };
  }
  return { hasMore: false, isContended: false, pending: 0, rest: 0 };
}

/** While many changes wait, obsolete ones are looked for this often: a look reads them all. */
const purgeEveryMs = 10_000;

/** When a process had deleted the obsolete changes, and what was attached then. */
const purged = new WeakMap<Setting["connections"], { readonly attached: string; readonly at: number }>();

/** Deletes obsolete changes. Only those of a parked table become more while the attachments stay the same. */
async function purgeNext(attached: Attached, isFull: boolean): Promise<boolean> {
  const { attachments, connections } = attached;
  const now = connections.environment.monotonic();
  const last = purged.get(connections);
  const shown = JSON.stringify(attachments.map(({ id, generation, parked }) => [id, generation, parked]));
  if (last?.attached === shown) {
    const isAnyParked = attachments.some(({ parked }) => parked !== undefined);
    if (!isAnyParked || (isFull && now < last.at + purgeEveryMs)) return false;
  }
  if (await purge(attached)) return true;
  purged.set(connections, { attached: shown, at: now });
  return false;
}

/** An SQL transaction that does not fit into one of ours, and how many of its rows to try. */
interface Piece {
  readonly xid: string;
  readonly rowsOfOne: number;
}

const pieces = new WeakMap<Setting["connections"], Piece>();

async function moveBatch(attached: Attached): Promise<Batch | typeof contended> {
  for (;;) {
    let tried: Batch | undefined;
    try {
      const batch = await moving(attached.database, "move attached tables", async (tx) => {
        // The conflict on this note keeps two processes from moving the same rows.
        const note = await tx.note(lastNote);
        const last = note === undefined ? [] : (JSON.parse(Buffer.from(note).toString()) as Moved[]);
        await forget(attached, last);
        const { batch, rowsOfOne } = await readFitting(attached);
        tried = batch;
        // The next call looks at the declarations again.
        if (batch.isStale) return contended;
        // First, so that a row that fits only without the note counts as too large.
        if (batch.rows > 0) tx.setNote(lastNote, Buffer.from(JSON.stringify(batch.moved)));
        for (const [id, changes] of batch.writes) await apply(attached, tx, id, changes, rowsOfOne);
        return batch;
      });
      if (batch !== contended) strike(attached, batch);
      return batch;
    } catch (error) {
      const [first] = tried?.moved ?? [];
      if (tried === undefined || first === undefined) throw error;
      const isOfOne = tried.moved.length === 1;
      const rowsOfOne = isOfOne ? Math.ceil(tried.rows / 2) : wholeSize.rowsOfOne;
      // A large piece may also be too slow for the deadline of one request.
      const isLarge = isOfOne && tried.rows > wholeSize.rows;
      if (isTooLarge(error) || isLarge) pieces.set(attached.connections, { xid: first[0], rowsOfOne });
      if (!isTooLarge(error)) throw error;
    }
  }
}

async function readFitting(
  attached: Attached,
): Promise<{ readonly batch: Batch; readonly rowsOfOne: number }> {
  const batch = await readBatch(attached, wholeSize);
  const piece = pieces.get(attached.connections);
  if (piece === undefined || piece.xid !== batch.moved[0]?.[0]) {
    return { batch, rowsOfOne: wholeSize.rowsOfOne };
  }
  const { rowsOfOne } = piece;
  return { batch: await readBatch(attached, { rows: 1, rowsOfOne }), rowsOfOne };
}

async function apply(
  attached: Attached,
  tx: Tx,
  id: string,
  changes: readonly Write[],
  rowsOfOne: number,
): Promise<void> {
  const followed = attached.followed.get(id);
  if (followed === undefined) throw notFollowed(attached, id);
  const { sql } = followed.source;
  try {
    const isComplete = await new ChangedTable(tx, followed).apply(changes, Math.floor(rowsOfOne / 10));
    if (!isComplete) {
      completeTablesOf(attached).delete(followed);
      await compareAgain(tx, followed);
    }
  } catch (error) {
    const isRowTooLarge = isTooLarge(error) && rowsOfOne === 1;
    const reason = isRowTooLarge ? `A row of ${sql}: ${(error as Error).message}` : reasonOf(sql, error);
    throw reason === undefined ? error : new Unmovable(followed, reason, error);
  }
}

/** A change of a table that this program does not move waits. It may share a transaction with others. */
function notFollowed({ attachments, problems }: Attached, id: string): Error {
  const attachment = attachments.find((each) => each.id === id);
  // Without an attachment, the table was attached or detached a moment ago.
  const sql = attachment?.sql ?? `number ${id}`;
  const own = problems.find(({ message }) => message.includes(sql));
  return (
    own ??
    new SchemaError(
      `Changes of the attached table ${sql} wait, but this program does not declare it. ` +
        "Give it to `open` in `tables`, or detach it with `detachTable`.",
    )
  );
}
