import { createHash } from "node:crypto";
import { hash32 } from "./hash.js";

/** A piece of a document. */
export interface Chunk {
  /** The hash of its text. */
  readonly id: string;
  readonly text: string;
}

/** The hash of a position covers this many words before it. */
const hashedWords = 3;
/**
 * A chunk ends at a position whose hash is the smallest among this many positions on either side.
 * So two such positions are at least this many words apart, and twice as many on average.
 */
export const reach = 25;
/** Longer stretches without such a position, such as one repeated word, are cut at this length. */
export const maxWords = 200;

/**
 * Cuts a text into chunks by its content. Whether a chunk ends at a position depends on the words
 * around it, not on its offset in the text. So an edit changes only the chunks that it touches. If
 * chunks had a fixed length, all chunks after an edit would change. The chunks joined are the text.
 */
export function split(text: string): readonly Chunk[] {
  // Each word with the space after it. The first may also have space before it.
  const words = text.match(/\s*\S+\s*/g) ?? (text === "" ? [] : [text]);
  const hashes = words.map((_, index) =>
    hash32(words.slice(Math.max(0, index + 1 - hashedWords), index + 1).join("")),
  );
  const chunks: Chunk[] = [];
  let begin = 0;
  for (let end = 1; end <= words.length; end++) {
    const isLast = end === words.length;
    if (!isLast && !isEnd(hashes, end - 1) && end - begin < maxWords) continue;
    chunks.push(chunkOf(words.slice(begin, end).join("")));
    begin = end;
  }
  return chunks;
}

/**
 * Whether the hash at a position is smaller than all others within reach. Never true near the
 * text's ends.
 */
function isEnd(hashes: readonly number[], place: number): boolean {
  if (place < reach || place >= hashes.length - reach) return false;
  for (let distance = 1; distance <= reach; distance++) {
    const least = Math.min(hashes[place - distance]!, hashes[place + distance]!);
    if (hashes[place]! >= least) return false;
  }
  return true;
}

function chunkOf(text: string): Chunk {
  return { id: createHash("sha256").update(text).digest("hex").slice(0, 32), text };
}
