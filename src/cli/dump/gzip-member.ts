import type { FileHandle } from "node:fs/promises";
import { gunzipSync, gzipSync } from "node:zlib";
import { maxBlockBytes } from "./format.js";

/*
 * Compressed exports. Each block is a gzip member of its own, and an extra header field holds the
 * member's length (RFC 1952, 2.3.1.1). Any gzip tool reads the members as one text. An export that
 * was cut continues after its last whole member.
 */

const headerBytes = 10;
const extraBytes = 10;
const extraFlag = 0x04;
const fieldName = "PD";

/** Compresses a block. */
export function gzipMember(text: Uint8Array): Buffer {
  const plain = gzipSync(text);
  const member = Buffer.alloc(plain.length + extraBytes);
  plain.copy(member, 0, 0, headerBytes);
  member[3]! |= extraFlag;
  member.writeUInt16LE(extraBytes - 2, headerBytes);
  member.write(fieldName, headerBytes + 2, "latin1");
  member.writeUInt16LE(4, headerBytes + 4);
  member.writeUInt32LE(member.length, headerBytes + 6);
  plain.copy(member, headerBytes + extraBytes, headerBytes);
  return member;
}

/** The text of a member, and where the member ends in the file. */
interface ReadMember {
  readonly text: Buffer;
  readonly end: number;
}

/**
 * Yields the whole members of a file that {@link gzipMember} made, in order. Stops before the first
 * member that is damaged or cut.
 */
export async function* readMembers(file: FileHandle): AsyncGenerator<ReadMember> {
  for (let offset = 0; ; ) {
    const length = memberLength(await readAt(file, offset, headerBytes + extraBytes));
    if (length === undefined) return;
    const text = tryGunzip(await readAt(file, offset, length));
    if (text === undefined) return;
    offset += length;
    yield { text, end: offset };
  }
}

function memberLength(header: Buffer): number | undefined {
  if (header.length < headerBytes + extraBytes || header.readUInt16BE(0) !== 0x1f8b) return undefined;
  const isOurs =
    (header[3]! & extraFlag) !== 0 &&
    header.readUInt16LE(headerBytes) === extraBytes - 2 &&
    header.toString("latin1", headerBytes + 2, headerBytes + 4) === fieldName;
  const length = header.readUInt32LE(headerBytes + 6);
  return isOurs && length <= maxBlockBytes ? length : undefined;
}

function tryGunzip(member: Buffer): Buffer | undefined {
  try {
    return gunzipSync(member, { maxOutputLength: maxBlockBytes });
  } catch {
    return undefined;
  }
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}
