import { StoreDamagedError } from "../../errors/index.js";
import type { BufferedWrite } from "../buffer.js";

/**
 * What a transaction did to the columns of a feed: the entry that it leaves there. An entry is one
 * string of bytes, so that it can be divided over cells wherever it becomes too long.
 */
export interface FeedEntry {
  readonly label: string | undefined;
  /** The observer whose run the transaction was. */
  readonly observer: string | undefined;
  /** In the order of table, row and column. Never empty. */
  readonly writes: readonly BufferedWrite[];
}

/** The first byte of an entry, so that a later form can be told apart. */
const form = 1;

export function encodeFeedEntry({ label, observer, writes }: FeedEntry): Buffer {
  const pieces: Uint8Array[] = [Buffer.of(form)];
  const push = (bytes: Uint8Array | undefined) => {
    const length = Buffer.allocUnsafe(4);
    length.writeUInt32BE(bytes === undefined ? absent : bytes.length);
    pieces.push(length);
    if (bytes !== undefined) pieces.push(bytes);
  };
  push(label === undefined ? undefined : Buffer.from(label));
  push(observer === undefined ? undefined : Buffer.from(observer));
  for (const { table, row, column, value } of writes) {
    push(Buffer.from(table));
    push(row);
    push(column);
    push(value);
  }
  return Buffer.concat(pieces);
}

/** The length that stands for an absent value. No value is that long. */
const absent = 0xffff_ffff;

export function decodeFeedEntry(bytes: Buffer): FeedEntry {
  if (bytes[0] !== form) throw unreadable(`it begins with ${bytes[0] ?? "nothing"}`);
  let at = 1;
  const take = (): Buffer | undefined => {
    if (at + 4 > bytes.length) throw unreadable("it ends too early");
    const length = bytes.readUInt32BE(at);
    at += 4;
    if (length === absent) return undefined;
    if (at + length > bytes.length) throw unreadable("it ends too early");
    at += length;
    return bytes.subarray(at - length, at);
  };
  const need = (): Buffer => {
    const found = take();
    if (found === undefined) throw unreadable("a name is missing");
    return found;
  };
  const label = take()?.toString("utf8");
  const observer = take()?.toString("utf8");
  const writes: BufferedWrite[] = [];
  while (at < bytes.length) {
    writes.push({ table: need().toString("utf8"), row: need(), column: need(), value: take() });
  }
  return { label, observer, writes };
}

function unreadable(why: string): StoreDamagedError {
  return new StoreDamagedError(`An entry of a feed cannot be read: ${why}. Run \`percolator check\`.`);
}
