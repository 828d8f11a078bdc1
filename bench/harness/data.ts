/** Keys and values, the same for both sides and in every run. */

const host = "org.example.www";

/** Returns the row of cell `index`, like a crawl's: 40 to 60 bytes, ascending with the index. */
export function rowOf(index: number): string {
  const number = String(index).padStart(8, "0");
  // Letters that depend on the number, so that lengths differ. The number before them keeps the
  // order.
  const tail = "abcdefghijklmnopqrst".slice(0, 1 + (index % 20));
  return `${host}/manual/${number}/${tail}/page.html`;
}

const words = "the quick brown fox jumps over a lazy dog while rain falls on the plain and wind turns mills ";

/** Text of exactly `bytes` ASCII characters, different for each cell and `salt`. */
export function textOf(index: number, bytes: number, salt = 0): string {
  const head = `${index}.${salt} `;
  const offset = (index * 7 + salt) % words.length;
  const body = words.repeat(Math.ceil((bytes + words.length) / words.length)).slice(offset, offset + bytes);
  return (head + body).slice(0, bytes);
}

/** A generator of integers below a bound, with a seed (mulberry32). */
export function randomNumbers(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000) * below);
  };
}

/** Returns the integers below `count`, in an order that depends on `seed`. */
export function shuffled(count: number, seed: number): Uint32Array {
  const random = randomNumbers(seed);
  const order = Uint32Array.from({ length: count }, (_, index) => index);
  for (let index = count - 1; index > 0; index--) {
    const other = random(index + 1);
    const held = order[index]!;
    order[index] = order[other]!;
    order[other] = held;
  }
  return order;
}
