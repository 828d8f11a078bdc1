import { instructionBytes, keyStartAfter } from "./instruction-layout.js";

/**
 * Memory for keys and values, whose address LMDB's binding knows. `start` and `end` tell the
 * binding which part to put. So a put needs no object of its own for its value.
 */
export interface Slab extends Buffer {
  start: number;
  end: number;
  readonly view: DataView;
  /** Its address in memory. 0 until the binding has computed it. */
  address: number;
  /** How many drafts have changes in it. */
  drafts: number;
}

const slabBytes = 256 * 1024;
/** How many unused slabs are kept for later. */
const maxSpareSlabs = 16;

function newSlab(bytes: number): Slab {
  const slab = Buffer.allocUnsafeSlow(bytes);
  return Object.assign(slab, { start: 0, end: 0, view: new DataView(slab.buffer), address: 0, drafts: 0 });
}

/** Copies `length` bytes. For a few hundred bytes this is faster than a native copy. */
export function copyBytes(
  source: DataView,
  from: number,
  target: DataView,
  to: number,
  length: number,
): void {
  let at = 0;
  for (; at + 4 <= length; at += 4) target.setInt32(to + at, source.getInt32(from + at));
  for (; at < length; at++) target.setUint8(to + at, source.getUint8(from + at));
}

/** Slabs that are filled one after another. */
export class SlabMemory {
  slab: Slab = newSlab(0);
  /** How many bytes of the slab are used. */
  used = 0;
  #markedSlab = this.slab;
  #mark = 0;
  readonly #spares: Slab[] = [];

  /** Makes room for `bytes` after `used`. The slab may be another one afterwards. */
  reserve(bytes: number): void {
    if (this.used + bytes <= this.slab.length) return;
    this.slab = bytes > slabBytes ? newSlab(bytes) : (this.#spares.pop() ?? newSlab(slabBytes));
    this.used = 0;
  }

  /**
   * Makes room for a change whose key and value have `bytes`. Returns where its key begins. Its value
   * begins at {@link valueStartAfter}.
   */
  beginChange(bytes: number): number {
    this.reserve(bytes + instructionBytes);
    return keyStartAfter(this.used);
  }

  /** Takes back a slab whose changes are all written, unless it is still being filled. */
  release(slab: Slab): void {
    const isSpare = slab.length === slabBytes && slab !== this.slab && slab !== this.#markedSlab;
    if (isSpare && this.#spares.length < maxSpareSlabs) this.#spares.push(slab);
  }

  /** Keeps what was written so far when {@link rewind} is called. */
  mark(): void {
    this.#markedSlab = this.slab;
    this.#mark = this.used;
  }

  /** Frees what was written into the slab since {@link mark}. */
  rewind(): void {
    this.used = this.slab === this.#markedSlab ? this.#mark : 0;
  }
}
