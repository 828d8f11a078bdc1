import type { Hash } from "node:crypto";
import type { ByteReader } from "./bytes.js";
import { type Digest, hasDigest, parseDigest } from "./digest.js";
import { excerpt, type Fields, headLength, maxHeadBytes, parseHead } from "./head.js";
import { payloadVouches } from "./payload.js";

/**
 * The most bytes of a block to keep. The reader skips the rest, so a record with a longer block has
 * only the beginning of the block.
 */
export const maxBlockBytes = 16 * 1024 * 1024;
const beginningBytes = 256 * 1024;

export interface WarcRecord {
  readonly offset: number;
  readonly fields: Fields;
  readonly length: number;
  /** The whole block, or its beginning if it is longer than {@link maxBlockBytes}. */
  readonly block: Buffer;
}

/**
 * What was found where a record should begin. After a fault in the record's `head` or `length`, the
 * reader has read the record's first line, and does not know where the next record begins. After a
 * fault in the record's digest, the reader is at the next record.
 */
export type Found =
  | {
      readonly kind: "record";
      readonly record: WarcRecord;
      readonly warning?: string;
      /**
       * No record follows, and the checksum of the record's gzip member has not been read yet. The
       * record is good if the checksum is right.
       */
      readonly unchecked?: boolean;
    }
  | {
      readonly kind: "fault";
      readonly at: "head" | "length" | "digest";
      readonly message: string;
      readonly url?: string;
    };

type Fault = Found & { kind: "fault" };

function fault(at: Fault["at"], message: string, fields?: Fields): Fault {
  const url = fields?.get("warc-target-uri");
  return { kind: "fault", at, message, ...(url === undefined ? {} : { url }) };
}

/**
 * Reads the record at the current position. `strictly` if the position was found by a search,
 * because text may look like a record.
 */
export async function readRecord(reader: ByteReader, strictly: boolean): Promise<Found> {
  const fields = await readFields(reader, strictly);
  if (!(fields instanceof Map)) return fields as Fault;
  const length = contentLength(fields, reader);
  if (typeof length !== "number") return length;
  await reader.peek(1);
  const offset = reader.offset;
  const block = await readBlock(reader, length, parseDigest(fields.get("warc-block-digest")));
  if (block.length < length) {
    reader.restore(offset, block.bytes);
    const message = `The record breaks off: its Content-Length is ${length}, and ${block.length} bytes follow`;
    return fault("length", message, fields);
  }
  const member = reader.offset;
  const closing = await readClosing(reader);
  // If something confirms the record's length, the fault is in what follows. A gzip member that
  // ends with the record confirms the length too: the next member has begun, so the checksum was
  // right. Before the checksum was read, nothing has confirmed the header.
  const isChecked = reader.plain || reader.offset !== member;
  const isWhole = () => (isChecked && reader.startsMember) || block.vouched || isVouched(fields, block);
  if (closing === "neither" && !(isWhole() && (isChecked || !strictly))) {
    reader.restore(offset, block.bytes);
    return fault("length", `No record begins where this one ends by its Content-Length of ${length}`, fields);
  }
  if (!block.intact) return fault("digest", "The record's block does not have its WARC-Block-Digest", fields);
  const record: WarcRecord = { offset: 0, fields, length, block: block.bytes ?? block.beginning };
  if (closing === "cut")
    return { kind: "record", record, warning: "The file ends inside the blank lines after a record" };
  return { kind: "record", record, unchecked: closing === "neither" && !isChecked };
}

function isVouched(fields: Fields, { bytes }: Block): boolean {
  return bytes !== undefined && payloadVouches(fields, bytes);
}

async function readFields(reader: ByteReader, strictly: boolean): Promise<Fields | Fault> {
  const bytes = await headBytes(reader);
  const version = /^WARC\/\d+\.\d+[ \t]*\r?\n/.exec(bytes.subarray(0, 64).toString("latin1"));
  if (!version) {
    const begin = bytes.subarray(0, 40).toString("latin1");
    reader.drop(Math.min(1, bytes.length));
    return fault("head", `No record begins here, but ${excerpt(begin)}`);
  }
  const length = headLength(bytes);
  if (length < 0) {
    reader.drop(version[0].length);
    return fault(
      "head",
      bytes.length < maxHeadBytes ? "The record's header breaks off" : "The record's header does not end",
    );
  }
  const head = parseHead(bytes.subarray(0, length));
  const odd = head.oddities[0] ?? (strictly ? implausible(head.fields) : undefined);
  if (odd !== undefined) {
    reader.drop(version[0].length);
    return fault("head", `The record's header cannot be read (${odd})`, head.fields);
  }
  reader.drop(length);
  return head.fields;
}

/** Returns why this is probably not a record but text that looks like one. */
function implausible(fields: Fields): string | undefined {
  if (!fields.has("warc-type") || !fields.has("content-length")) return "no WARC-Type, or no Content-Length";
  return /^<.+>$/.test(fields.get("warc-record-id") ?? "<none>") ? undefined : "no WARC-Record-ID";
}

/** Reads enough bytes to contain a header. Most headers are short. */
async function headBytes(reader: ByteReader): Promise<Buffer> {
  for (let size = 4 * 1024; ; size *= 4) {
    const bytes = await reader.peek(Math.min(size, maxHeadBytes));
    if (bytes.length < size || size >= maxHeadBytes || headLength(bytes) >= 0) return bytes;
  }
}

function contentLength(fields: Fields, reader: ByteReader): number | Fault {
  const text = fields.get("content-length");
  if (text === undefined) return fault("length", "The record has no Content-Length", fields);
  if (!/^\d+$/.test(text))
    return fault("length", `The record's Content-Length is no length: ${excerpt(text)}`, fields);
  const length = Number(text);
  if (length <= reader.most()) return length;
  return fault(
    "length",
    `The record breaks off: its Content-Length of ${text} reaches beyond the end of the file`,
    fields,
  );
}

interface Block {
  readonly length: number;
  readonly bytes: Buffer | undefined;
  readonly beginning: Buffer;
  /**
   * `intact`: the block does not contradict its digest. `vouched`: it has a digest and matches
   * it.
   */
  readonly intact: boolean;
  readonly vouched: boolean;
}

async function readBlock(reader: ByteReader, length: number, digest: Digest | undefined): Promise<Block> {
  if (length <= maxBlockBytes) {
    const bytes = await reader.take(length);
    const vouched = digest !== undefined && hasDigest(digest, bytes);
    return { length: bytes.length, bytes, beginning: bytes, intact: !digest || vouched, vouched };
  }
  const hash: Hash | undefined = digest?.hash();
  const beginning = Buffer.from(await reader.peek(beginningBytes));
  const passed = await reader.pass(length, (bytes) => hash?.update(bytes));
  const vouched = digest !== undefined && hash !== undefined && digest.matches(hash);
  return { length: passed, bytes: undefined, beginning, intact: !digest || vouched, vouched };
}

/**
 * Takes the blank lines after a block, and checks what follows. By the standard these are two line
 * ends, then a record or the end. Returns `cut` if the end comes before the second line end.
 */
async function readClosing(reader: ByteReader): Promise<"well" | "cut" | "neither"> {
  const lines = await skipLineEnds(reader);
  const next = await reader.peek(5);
  if (next.length === 0) return lines < 2 && reader.plain ? "cut" : "well";
  return "WARC/".startsWith(next.toString("latin1")) ? "well" : "neither";
}

/** Takes all CR and LF characters. Returns the number of LF characters. */
export async function skipLineEnds(reader: ByteReader): Promise<number> {
  let lines = 0;
  for (;;) {
    await reader.peek(1);
    const held = reader.held;
    let count = 0;
    while (held[count] === 10 || held[count] === 13) if (held[count++] === 10) lines++;
    reader.drop(count);
    if (count < held.length || held.length === 0) return lines;
  }
}

const searchBytes = 64 * 1024;

/**
 * Moves to the next place, after the current one, at which a record may begin: `WARC/` after a
 * blank line.
 */
export async function findRecord(reader: ByteReader): Promise<boolean> {
  for (;;) {
    const bytes = await reader.peek(searchBytes);
    for (let at = bytes.indexOf("WARC/", 2); at >= 0; at = bytes.indexOf("WARC/", at + 1)) {
      if (!/\n\r?\n$/.test(bytes.subarray(Math.max(0, at - 3), at).toString("latin1"))) continue;
      reader.drop(at);
      return true;
    }
    if (bytes.length < searchBytes) {
      reader.drop(bytes.length);
      return false;
    }
    reader.drop(bytes.length - 8);
  }
}
