import type { MoveOutcome, MoveRequest } from "../../database/index.js";
import { SchemaError } from "../../errors/index.js";
import type { Setting } from "../../store/postgres/index.js";
import { type Attached, contended, lastNote, moving, needSetting } from "./attached.js";
import { ChangedTable, type Write } from "./changed-table.js";
import { compareAgain, copyChunk } from "./copy.js";
import { follow } from "./follow.js";
import { type Batch, type BatchSize, forget, type Moved, purge, readBatch } from "./outbox.js";
import { isTooLarge, park, reasonOf, Unmovable } from "./park.js";
import { attachedSource, type Tx } from "./source.js";

/** What one library transaction takes from the outbox, unless it is too large for one. */
const wholeSize: BatchSize = { rows: 1_000, rowsOfOne: 100_000 };

/**
 * Moves one batch of committed SQL transactions into cells, and copies one chunk of a table that is
 * not copied yet. A table whose change cannot be moved is parked, and the others go on.
 * docs/decisions/attached-tables.md says why each change arrives exactly once.
 */
export async function moveChanges(request: MoveRequest): Promise<MoveOutcome> {
  const setting = needSetting(request);
  const sources = request.tables.map(attachedSource).filter((each) => each !== undefined);
  const attached = { database: request.database, ...setting, ...(await follow(setting, sources)) };
  const { problems } = attached;
  const isAny = attached.attachments.some(({ recorded }) => recorded !== undefined);
  const more = (isContended: boolean) => ({ moved: true, isContended, problems });
  if (!isAny) return { moved: false, isContended: false, problems };
  try {
    const batch = await moveBatch(attached);
    if (batch === contended) return more(true);
    if (batch.isFull && !isTurnOfCopy(setting)) return more(false);
    const copied = await copyNext(attached);
    if (copied === contended) return more(true);
    const purged = await purgeNext(attached);
    const moved = batch.rows > 0 || batch.isFull || copied || purged;
    return { moved, isContended: false, problems };
  } catch (error) {
    if (!(error instanceof Unmovable)) throw error;
    await park(setting, error.table, error.message);
    // The next call reports it, and moves the other tables.
    return more(false);
  }
}

/** While more changes wait than a batch takes, a copy goes on after so many batches. */
const batchesBeforeCopy = 4;
const fullBatches = new WeakMap<Setting["connections"], number>();

function isTurnOfCopy({ connections }: Setting): boolean {
  const count = (fullBatches.get(connections) ?? 0) + 1;
  fullBatches.set(connections, count);
  return count % batchesBeforeCopy === 0;
}

async function copyNext(attached: Attached): Promise<boolean | typeof contended> {
  for (const each of attached.followed.values()) {
    const copied = await copyChunk(attached, each);
    if (copied === contended) return contended;
    if (copied.hasMore) return true;
  }
  return false;
}

async function purgeNext(attached: Attached): Promise<boolean> {
  for (const each of attached.attachments) {
    // A parked table is compared when it is attached again, so its changes are not needed.
    if (each.parked !== undefined && (await purge(attached, each.id))) return true;
  }
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
      return await moving(attached.database, "move attached tables", async (tx) => {
        // The conflict on this note keeps two processes from moving the same rows.
        const note = await tx.note(lastNote);
        const last = note === undefined ? [] : (JSON.parse(Buffer.from(note).toString()) as Moved[]);
        await forget(attached, last);
        const { batch, rowsOfOne } = await readFitting(attached);
        tried = batch;
        for (const [id, changes] of batch.writes) await apply(attached, tx, id, changes, rowsOfOne);
        if (batch.rows > 0) tx.setNote(lastNote, Buffer.from(JSON.stringify(batch.moved)));
        return batch;
      });
    } catch (error) {
      const [first] = tried?.moved ?? [];
      if (!isTooLarge(error) || tried === undefined || first === undefined) throw error;
      const rowsOfOne = tried.moved.length > 1 ? wholeSize.rowsOfOne : Math.ceil(tried.rows / 2);
      pieces.set(attached.connections, { xid: first[0], rowsOfOne });
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
    if (!isComplete) await compareAgain(tx, followed);
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
