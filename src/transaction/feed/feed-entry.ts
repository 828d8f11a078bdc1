import { StoreDamagedError, StoreVersionError } from "../../errors/index.js";
import { readTimestamp, writeTimestamp } from "../../store/index.js";
import type { BufferedWrite } from "../buffer.js";
import type { CellAddress } from "../cell/address.js";

/** How a transaction dealt with an observer's changes of one cell. */
export interface HandledCell {
  readonly observer: string;
  readonly cell: CellAddress;
  /** All changes of the cell up to this timestamp are dealt with. */
  readonly upTo: number;
  /** Whether they were parked. Otherwise a run handled them, or they were discarded. */
  readonly isParked: boolean;
}

/**
 * What a transaction did to the columns of a feed: the entry that it leaves there. An entry is one
 * string of bytes, so that it can be divided over cells wherever it becomes too long.
 */
export interface FeedEntry {
  readonly label: string | undefined;
  /** The observer whose run the transaction was. */
  readonly observer: string | undefined;
  /** In the feed of all observed columns: what the transaction handled. Otherwise empty. */
  readonly handled: readonly HandledCell[];
  /**
   * In the order of table, row and column. Empty only if `handled` is there. In the feed of all
   * observed columns, notified signals follow the writes.
   */
  readonly writes: readonly BufferedWrite[];
}

/*
 * The first byte of an entry. Entries of the second form say what their transaction handled: one
 * cell. Entries of the third form say how many cells it handled, and which.
 */
const plainForm = 1;
const handledForm = 2;
const severalForm = 3;

export function encodeFeedEntry({ label, observer, handled, writes }: FeedEntry): Buffer {
  const pieces: Uint8Array[] = [Buffer.of(formOf(handled.length))];
  const push = (bytes: Uint8Array | undefined) => {
    const length = Buffer.allocUnsafe(4);
    length.writeUInt32BE(bytes === undefined ? absent : bytes.length);
    pieces.push(length);
    if (bytes !== undefined) pieces.push(bytes);
  };
  push(label === undefined ? undefined : Buffer.from(label));
  push(observer === undefined ? undefined : Buffer.from(observer));
  if (handled.length > 1) {
    const count = Buffer.allocUnsafe(4);
    count.writeUInt32BE(handled.length);
    pieces.push(count);
  }
  for (const { observer: name, cell, upTo, isParked } of handled) {
    push(Buffer.from(name));
    push(Buffer.from(cell.table));
    push(cell.row);
    push(cell.column);
    const how = Buffer.allocUnsafe(9);
    writeTimestamp(how, 0, upTo);
    how[8] = isParked ? 1 : 0;
    push(how);
  }
  for (const { table, row, column, value } of writes) {
    push(Buffer.from(table));
    push(row);
    push(column);
    push(value);
  }
  return Buffer.concat(pieces);
}

function formOf(handledCells: number): number {
  if (handledCells === 0) return plainForm;
  return handledCells === 1 ? handledForm : severalForm;
}

/** The length that stands for an absent value. No value is that long. */
const absent = 0xffff_ffff;

export function decodeFeedEntry(bytes: Buffer): FeedEntry {
  const form = bytes[0];
  if (form !== undefined && form > severalForm) throw newer(form);
  if (form !== plainForm && form !== handledForm && form !== severalForm) {
    throw unreadable(`it begins with ${form ?? "nothing"}`);
  }
  let at = 1;
  const takeInt = (): number => {
    if (at + 4 > bytes.length) throw unreadable("it ends too early");
    at += 4;
    return bytes.readUInt32BE(at - 4);
  };
  const take = (): Buffer | undefined => {
    const length = takeInt();
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
  const takeHandled = (): HandledCell => {
    const name = need().toString("utf8");
    const cell = { table: need().toString("utf8"), row: need(), column: need() };
    const how = need();
    if (how.length !== 9) throw unreadable("what it handled is not complete");
    return { observer: name, cell, upTo: readTimestamp(how, 0), isParked: how[8] === 1 };
  };
  const handled: HandledCell[] = [];
  const handledCells = form === severalForm ? takeInt() : form === handledForm ? 1 : 0;
  for (let cell = 0; cell < handledCells; cell++) handled.push(takeHandled());
  const writes: BufferedWrite[] = [];
  while (at < bytes.length) {
    writes.push({ table: need().toString("utf8"), row: need(), column: need(), value: take() });
  }
  return { label, observer, handled, writes };
}

function newer(form: number): StoreVersionError {
  return new StoreVersionError(
    `An entry of a feed has the form ${form}, but this package knows only those up to ${severalForm}. A newer version of the ` +
      "package has written it: upgrade this process. If there is none, run `percolator check`.",
  );
}

function unreadable(why: string): StoreDamagedError {
  return new StoreDamagedError(`An entry of a feed cannot be read: ${why}. Run \`percolator check\`.`);
}
