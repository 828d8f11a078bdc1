import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { type Database, open, table, text } from "../../src/index.js";

/** The data in which bits are flipped: short and long values, and cells with many versions. */
export const things = table("things", { name: text(), body: text() });

const rows = 400;
const pageBytes = 4_096;

const row = (i: number) => `thing ${String(i).padStart(4, "0")}`;
const name = (i: number) => `name ${i}`;
const body = (i: number) => `body ${i} `.repeat(i % 97 === 0 ? 3_000 : i % 13 === 0 ? 300 : 3);
const versions = (i: number) => (i % 100 === 50 ? 20 : 1);

export async function fill(path: string): Promise<void> {
  const db = await open(path, { tables: [things], durability: "none" });
  for (let version = 1; version <= 20; version++) {
    await db.transact(async (tx) => {
      for (let i = 0; i < rows; i++) {
        if (version > versions(i)) continue;
        tx.set(
          things.name,
          row(i),
          version === versions(i) ? name(i) : `version ${version} of ${i}`.repeat(4),
        );
        if (version === 1) tx.set(things.body, row(i), body(i));
      }
    });
  }
  await db.close();
}

const digest = (value: string | undefined) =>
  value === undefined ? "nothing" : createHash("sha1").update(value).digest("base64").slice(0, 8);

/** The beginning of the lines on stderr that announce the next flip. */
export const flipMark = "flip ";

/** The result that {@link read} must return. */
export function contents(): readonly string[] {
  const all = Array.from({ length: rows }, (_, i) => i);
  const scanned = all.map((i) => `${row(i)} ${digest(name(i))}`);
  return [
    ...scanned,
    ...scanned.toReversed(),
    ...all.map((i) => digest(body(i))),
    ...all.map((i) => digest(name(i))),
    ...all.map((i) => String(versions(i))),
  ];
}

/** Reads everything, in every possible way. */
export async function read(db: Database): Promise<readonly string[]> {
  const found: string[] = [];
  const all = Array.from({ length: rows }, (_, i) => i);
  await using snapshot = await db.snapshot();
  for (const reverse of [false, true]) {
    for await (const { row: key, value } of snapshot.scan(things.name, { reverse }))
      found.push(`${key} ${digest(value)}`);
  }
  for (const value of await snapshot.getMany(things.body, all.map(row))) found.push(digest(value));
  for (const i of all) found.push(digest(await snapshot.get(things.name, row(i))));
  for (const i of all) {
    let count = 0;
    for await (const _ of await db.history(things.name, row(i))) count++;
    found.push(String(count));
  }
  return found;
}

/**
 * Returns the position of the bit that a flip changes. Half of the flips are anywhere in the file.
 * The other half are in page heads, which list the page's nodes.
 */
export function flipAt(
  seed: number,
  number: number,
  file: string,
): { readonly offset: number; readonly bit: number } {
  const random = createHash("sha256").update(`${seed} ${number}`).digest();
  const { size } = statSync(file);
  const bit = random[0]! & 7;
  if (random[1]! & 1) return { offset: random.readUInt32LE(4) % size, bit };
  const page = random.readUInt32LE(4) % (size / pageBytes);
  return { offset: page * pageBytes + (random.readUInt32LE(8) % 64), bit };
}
