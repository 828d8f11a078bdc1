import { join } from "node:path";
import { type Database, type OpenWithHooksOptions, openWithHooks } from "../../src/database/index.js";
import {
  bytes,
  codec,
  family,
  float,
  int,
  json,
  signal,
  table,
  text,
  tuple,
} from "../../src/schema/index.js";
import { CommandLine } from "./command-line.js";

export const documents = table("documents", {
  title: text(),
  size: int(),
  links: json<string[]>(),
  thumbnail: bytes(),
  anchors: family(text()),
  rescore: signal(),
});

export const visits = table("visits", { seconds: float() }, { key: tuple(text(), int()) });

const bigints = codec<bigint>({
  encode: (value) => Buffer.from(value.toString()),
  decode: (stored) => BigInt(Buffer.from(stored).toString()),
});

/** A table whose values only a module can read. */
export const ledger = table("ledger", { total: bigints });

/** Opens the database `data` in a command line's folder while `use` runs. */
export async function withLibrary<T>(
  { folder }: CommandLine,
  use: (db: Database) => Promise<T>,
  options: OpenWithHooksOptions = {},
): Promise<T> {
  await using db = await openWithHooks(join(folder, "data"), {
    tables: [documents, visits, ledger],
    collectEveryMs: 0,
    ...options,
  });
  return await use(db);
}

/** Creates a command line in a new folder, with a database of three tables in `data`. */
export async function libraryCommandLine(): Promise<CommandLine> {
  const cli = await CommandLine.create();
  await withLibrary(cli, async (db) => {
    await db.transact((tx) => {
      tx.set(documents.title, "a", "Alpha");
      tx.set(documents.size, "a", 5);
      tx.set(documents.links, "a", ["b", "c"]);
      tx.set(documents.thumbnail, "a", Buffer.from([0, 255]));
      tx.set(documents.anchors.at("https://x.example/"), "a", "first");
      tx.set(documents.anchors.at("y"), "a", "second");
      tx.set(documents.title, "ab", "Line one\nLine two");
      tx.set(documents.title, "b", "Beta");
      tx.set(visits.seconds, ["home", 1], 1.5);
      tx.set(visits.seconds, ["home", 2], 2.5);
      tx.set(visits.seconds, ["shop", 1], Number.POSITIVE_INFINITY);
      tx.set(ledger.total, "all", 12345678901234567890n);
    });
  });
  return cli;
}

/** A module that declares the library's table with a custom codec. */
export const ledgerModule = (source: string) => `
import { codec, table } from ${JSON.stringify(source)};
const bigints = codec<bigint>({
  encode: (value: bigint) => Buffer.from(value.toString()),
  decode: (stored: Uint8Array) => BigInt(Buffer.from(stored).toString()),
});
export default { tables: [table("ledger", { total: bigints })] };
`;
