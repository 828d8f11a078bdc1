import { createHash } from "node:crypto";
import { hash32 } from "./hash.js";

/** A piece of a document. */
export interface Chunk {
  /** The hash of its text. */
  readonly id: string;
  readonly text: string;
}

/** The words whose hash a place has: those just before it. */
const hashedWords = 3;
/**
 * A chunk ends at a place whose hash is the least of so many places to either side. So it has so
 * many words at least, twice as many on average.
 */
export const reach = 25;
/** Longer stretches without such a place, as of one word again and again, are cut. */
export const maxWords = 200;

/**
 * Cuts a text into chunks by its content: whether a chunk ends at a place depends on the words
 * around it, and not on where in the text that is. So an edit changes the chunks it touches, and
 * those before and behind stay what they are; cut by length, all behind it would move. The chunks
 * put together are the text.
 */
export function split(text: string): readonly Chunk[] {
  // Each word with the space behind it; the first perhaps with the space before it.
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
 * Whether the hash of a place is less than all within reach; never within reach of the text's ends.
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
