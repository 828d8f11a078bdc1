/**
 * YCSB's distributions of requests over records: `ZipfianGenerator` and
 * `ScrambledZipfianGenerator` of YCSB 0.17, after "Quickly Generating Billion-Record Synthetic
 * Databases" (Gray and others, SIGMOD 1994).
 */

/** Draws a number in [0, 1). */
export type Draw = () => number;

export const zipfianConstant = 0.99;
/** YCSB draws ranks from so many items, and then spreads the ranks over the records by a hash. */
export const scrambledItems = 10_000_000_000;
/** The sum of `1 / i ** zipfianConstant` for all `scrambledItems`, as YCSB has it. */
export const scrambledZeta = 26.46902820178302;

/** The sum of `1 / i ** theta` for i from 1 to `items`. */
export function zeta(items: number, theta: number): number {
  let sum = 0;
  for (let item = 1; item <= items; item++) sum += 1 / item ** theta;
  return sum;
}

/** Returns a function that draws ranks below `items`. Rank 0 is the most frequent. */
export function zipfian(
  items: number,
  draw: Draw,
  theta = zipfianConstant,
  sum = zeta(items, theta),
): () => number {
  const alpha = 1 / (1 - theta);
  const eta = (1 - (2 / items) ** (1 - theta)) / (1 - zeta(2, theta) / sum);
  return () => {
    const part = draw();
    const place = part * sum;
    if (place < 1) return 0;
    if (place < 1 + 0.5 ** theta) return 1;
    return Math.trunc(items * (eta * part - eta + 1) ** alpha);
  };
}

/** Returns a function that draws records below `records`. A few are frequent, anywhere in the table. */
export function scrambledZipfian(records: number, draw: Draw): () => number {
  const rank = zipfian(scrambledItems, draw, zipfianConstant, scrambledZeta);
  return () => Number(hashOf(rank()) % BigInt(records));
}

const offsetBasis = 0xcbf29ce484222325n;
const prime = 1_099_511_628_211n;

/** The 64-bit FNV-1a hash of bytes. */
export function fnv1a(bytes: Iterable<number>): bigint {
  let hash = offsetBasis;
  for (const byte of bytes) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * prime);
  return hash;
}

/**
 * YCSB's `fnvhash64` of a number: the hash of its eight bytes, the lowest first, without the sign
 * that Java's `long` gives it.
 */
export function hashOf(value: number): bigint {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value), true);
  const signed = BigInt.asIntN(64, fnv1a(bytes));
  return signed < 0n ? -signed : signed;
}
