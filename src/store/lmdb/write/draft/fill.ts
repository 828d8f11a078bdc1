import type { Databases } from "../../record/databases.js";
import type { RecordKey } from "../../record/key.js";
import type { Slab } from "./slab.js";

/**
 * A fill puts cells into a range that has none. So each cell's entry is its one write record, and
 * no cell needs a read, a guard or an object of its own. The records stand in slabs, each behind
 * the lengths of its key and its value, until LMDB's write thread has put them.
 */

/** Before each record: the length of its key, and that of its value. */
export const lengthsBytes = 8;
/** Set in the key's length if the record belongs into `versions`: see `layout.ts`. */
export const isVersion = 0x4000_0000;
/** Records in `slab[start..end)`. */
export interface FillSection {
  readonly slab: Slab;
  readonly start: number;
  end: number;
}

/** The key of the record that is put now. */
class PutKey implements RecordKey {
  bytes: Uint8Array = new Uint8Array(0);
  start = 0;
  length = 0;
}

export const noBytes = Buffer.alloc(0);
const putKey = new PutKey();

/** The records of a block of cells, ready to be put. */
export class Fill {
  readonly sections: FillSection[] = [];
  /** The keys of the first and of the last cell. */
  first: Buffer = noBytes;
  last: Buffer = noBytes;
  bytes = 0;
  /** Where the key of the newest cell is: `slab[keyStart..keyEnd)`. */
  keyStart = 0;
  keyEnd = 0;

  /**
   * Whether the record with the key `bytes[start..start + length)` may belong to a cell of the
   * range. Also true for cells whose key begins with that of the last cell.
   */
  covers(bytes: Buffer, start: number, length: number): boolean {
    const { first, last } = this;
    const end = start + length;
    if (bytes.compare(first, 0, first.length, start, end) < 0) return false;
    return bytes.compare(last, 0, last.length, start, Math.min(end, start + last.length)) <= 0;
  }

  overlaps(other: Fill): boolean {
    return this.first.compare(other.last) <= 0 && other.first.compare(this.last) <= 0;
  }

  /** Puts the records inside a write transaction, or queues them outside of one. */
  make({ cells, versions }: Databases): void {
    for (const { slab, start, end } of this.sections) {
      putKey.bytes = slab;
      for (let at = start; at < end; ) {
        const keyLength = slab.view.getInt32(at);
        const valueLength = slab.view.getInt32(at + 4);
        putKey.start = at + lengthsBytes;
        putKey.length = keyLength & ~isVersion;
        slab.start = putKey.start + putKey.length;
        slab.end = slab.start + valueLength;
        at = slab.end;
        if ((keyLength & isVersion) === 0) cells.put(putKey, slab);
        else versions.put(putKey, slab);
      }
    }
  }

  /** A copy of the newest cell's key, which is in `slab`. */
  keyIn(slab: Slab): Buffer {
    return Buffer.from(slab.subarray(this.keyStart, this.keyEnd));
  }

  /** Adds `slab[start..end)`. */
  add(slab: Slab, start: number, end: number): void {
    this.bytes += end - start;
    const open = this.sections.at(-1);
    if (open?.slab === slab && open.end === start) open.end = end;
    else this.sections.push({ slab, start, end });
  }
}
