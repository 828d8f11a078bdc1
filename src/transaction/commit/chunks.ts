import type { StoreCapabilities } from "../../store/index.js";
import type { BufferedWrite } from "../buffer.js";
import { rowKey } from "../cell/address.js";
import type { CommitRequest } from "./request.js";

/**
 * Cells of one row that one mutation locks, commits or rolls back. The lock on the first cell lists
 * the columns of the others.
 */
export interface Chunk {
  readonly table: string;
  readonly row: Uint8Array;
  readonly writes: readonly BufferedWrite[];
}

/** Upper bounds on the mutations and guards that a prewrite needs per cell. */
const mutationsPerCell = 5;
const guardsPerCell = 3;
/** Bytes that a guard counts for in addition to its column, see `StoreCapabilities.guardBytes`. */
const guardOverhead = 64;

/**
 * Divides a transaction's writes into chunks, the first step of a two-phase commit. A row becomes
 * one chunk, or several if it exceeds the store's limit on cells or guards per mutation. The
 * primary is the first cell of the first chunk.
 */
export function divideIntoChunks(
  request: Pick<CommitRequest, "writes" | "primary">,
  { mutationCells, guardBytes = Number.POSITIVE_INFINITY }: StoreCapabilities,
): readonly [Chunk, ...Chunk[]] {
  const most = Math.max(1, Math.floor(mutationCells / mutationsPerCell));
  const chunks: Chunk[] = [];
  let open: BufferedWrite[] = [];
  let openKey: string | undefined;
  let bytes = 0;
  const close = () => {
    const first = open[0];
    if (first !== undefined) chunks.push({ table: first.table, row: first.row, writes: open });
    open = [];
    bytes = 0;
  };
  for (const write of orderedWrites(request)) {
    const key = rowKey(write.table, write.row);
    const cost = guardsPerCell * (write.column.length + guardOverhead);
    if (key !== openKey || open.length >= most || bytes + cost > guardBytes) close();
    openKey = key;
    bytes += cost;
    open.push(write);
  }
  close();
  return chunks as [Chunk, ...Chunk[]];
}

/** The writes with the primary first, then the rest of its row. All others keep their order. */
function orderedWrites(request: Pick<CommitRequest, "writes" | "primary">): readonly BufferedWrite[] {
  const { primary, writes } = request;
  if (primary === undefined) return writes;
  const primaryRow = rowKey(primary.table, primary.row);
  const rank = (write: BufferedWrite) => {
    if (rowKey(write.table, write.row) !== primaryRow) return 2;
    return Buffer.compare(write.column, primary.column) === 0 ? 0 : 1;
  };
  const ranked = writes.map((write) => ({ write, rank: rank(write) }));
  return ranked.sort((a, b) => a.rank - b.rank).map((entry) => entry.write);
}
