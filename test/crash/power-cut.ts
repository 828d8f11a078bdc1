import type { Random } from "./random.js";
import type { Trace, TracedWrite } from "./trace.js";

const pageBytes = 4_096;
const sectorBytes = 512;

/** Which of the unsafe writes had reached the disk when the power was cut. */
export const losses = [
  "all lost",
  "none lost",
  "later lost",
  "some writes lost",
  "some pages lost",
  "some sectors lost",
  "all but heads lost",
  "heads lost",
] as const;

export type Loss = (typeof losses)[number];

/** A state in which a power cut at one moment of a trace may leave the disk. */
export interface PowerCut {
  readonly at: number;
  readonly loss: Loss;
  readonly image: Buffer;
  /** The numbers of safe writes and of unsafe writes. */
  readonly safe: number;
  readonly open: number;
}

/** The head of the file: LMDB's meta pages. */
const headBytes = 2 * pageBytes;

/**
 * Returns the file as a disk may hold it after a power cut at line `at`.
 *
 * - A write is safe if it was answered before the beginning of a sync that was itself answered
 *   before the cut. A synchronous write is safe if it was answered before the cut.
 * - Each disk block holds the state after its last safe write, or after any unsafe write since
 *   then. Different blocks are independent of each other.
 */
export function cutPower(trace: Trace, at: number, loss: Loss, random: Random): PowerCut {
  const begun = trace.writes.filter((write) => write.begun < at);
  const ended = trace.syncs.filter((sync) => sync.ended < at);
  const lastSync = Math.max(-1, ...ended.map((sync) => sync.begun));
  const isSafe = (write: TracedWrite) => write.ended < lastSync || (write.synced && write.ended < at);
  const image = new Image(begun);
  const open: TracedWrite[] = [];
  for (const write of begun) {
    if (isSafe(write)) image.put(write, write.offset, write.offset + write.bytes.length);
    else open.push(write);
  }
  // If a safe write of a block is on the disk, all earlier writes of that block are there too, even
  // unsafe ones. So each block with an unsafe write is now built again from all of its writes.
  applyOpen(
    image,
    open,
    begun,
    isSafe,
    chooser(open, loss, random),
    loss === "some pages lost" ? pageBytes : sectorBytes,
  );
  return { at, loss, image: image.bytes(), safe: begun.length - open.length, open: open.length };
}

/** Given the unsafe writes of one block, in order, returns how many of them reached the disk. */
type Chooser = (writes: readonly TracedWrite[]) => number;

function chooser(open: readonly TracedWrite[], loss: Loss, random: Random): Chooser {
  const upTo = (has: (write: TracedWrite) => boolean) => (writes: readonly TracedWrite[]) =>
    writes.findLastIndex(has) + 1;
  switch (loss) {
    case "all lost":
      return () => 0;
    case "none lost":
      return (writes) => writes.length;
    case "later lost": {
      const last = open[random.below(Math.max(1, open.length))]?.begun ?? 0;
      return upTo((write) => write.begun <= last);
    }
    case "some writes lost": {
      const share = random.next();
      const kept = new Set(open.filter(() => random.chance(share)));
      return upTo((write) => kept.has(write));
    }
    case "some pages lost":
    case "some sectors lost":
      return (writes) => random.below(writes.length + 1);
    case "all but heads lost":
      return upTo((write) => write.offset < headBytes);
    case "heads lost":
      return upTo((write) => write.offset >= headBytes);
  }
}

function applyOpen(
  image: Image,
  open: readonly TracedWrite[],
  all: readonly TracedWrite[],
  isSafe: (write: TracedWrite) => boolean,
  choose: Chooser,
  blockBytes: number,
): void {
  const touched = new Map<number, TracedWrite[]>();
  const openSet = new Set(open);
  for (const write of open) for (const block of blocksOf(write, blockBytes)) touched.set(block, []);
  for (const write of all) {
    for (const block of blocksOf(write, blockBytes)) touched.get(block)?.push(write);
  }
  for (const [block, writes] of touched) {
    const lastSafe = writes.findLastIndex(isSafe);
    const since = writes.slice(lastSafe + 1).filter((write) => openSet.has(write));
    const kept = [...writes.slice(0, lastSafe + 1), ...since.slice(0, choose(since))];
    for (const write of kept) image.put(write, block * blockBytes, (block + 1) * blockBytes);
  }
}

function* blocksOf({ offset, bytes }: TracedWrite, blockBytes: number): Generator<number> {
  const end = offset + bytes.length;
  for (let block = Math.floor(offset / blockBytes); block * blockBytes < end; block++) yield block;
}

/** A growing file, in whole pages. */
class Image {
  readonly #bytes: Buffer;
  #size = 0;

  constructor(writes: readonly TracedWrite[]) {
    const size = Math.max(0, ...writes.map(({ offset, bytes }) => offset + bytes.length));
    this.#bytes = Buffer.alloc(Math.ceil(size / pageBytes) * pageBytes);
  }

  /** Copies the bytes of `write` that lie between two file offsets. */
  put({ offset, bytes }: TracedWrite, from: number, to: number): void {
    const start = Math.max(offset, from);
    const end = Math.min(offset + bytes.length, to);
    if (start >= end) return;
    bytes.copy(this.#bytes, start, start - offset, end - offset);
    this.#size = Math.max(this.#size, Math.ceil(end / pageBytes) * pageBytes);
  }

  bytes(): Buffer {
    return this.#bytes.subarray(0, this.#size);
  }
}

/**
 * The offsets at which LMDB stores the machine's boot number, in each of its three heads. After a
 * power cut this number is different.
 */
const bootOffsets = [0, pageBytes / 2, pageBytes].map((head) => head + 24 + 136);

/** Makes a file look as if it was written before the machine was last booted. */
export function restartMachine(image: Buffer): void {
  for (const offset of bootOffsets) {
    if (offset + 8 > image.length) continue;
    const boot = image.readBigUInt64LE(offset);
    if (boot !== 0n) image.writeBigUInt64LE(boot ^ 0x5555n, offset);
  }
}
