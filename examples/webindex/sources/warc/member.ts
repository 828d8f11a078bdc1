import { crc32, createInflateRaw, inflateRawSync, type ZlibOptions, constants as zlib } from "node:zlib";
import type { ArchiveFile } from "./file.js";

/** Bytes of an archive that cannot be read. The damage begins at `offset`. */
export class Damage extends Error {
  readonly offset: number;

  constructor(offset: number, message: string) {
    super(message);
    this.name = "Damage";
    this.offset = offset;
  }
}

/** The beginning of a gzip member: two bytes of magic, and deflate, the only method. */
export const memberMagic = Buffer.from([0x1f, 0x8b, 0x08]);

/**
 * A member is inflated in one call if it needs at most this many bytes of the file, and yields at
 * most `atOnceOut` bytes.
 */
const atOnceIn = 64 * 1024;
const atOnceOut = 4 * 1024 * 1024;
/** If a member is damaged in the middle, at most this many bytes before the damage are lost. */
const pieceOut = 4 * 1024;
const longestNames = 64 * 1024;
const trailerBytes = 8;

const flag = { crc: 2, extra: 4, name: 8, comment: 16, reserved: 0xe0 } as const;

/**
 * Yields the contents of the gzip member at the file's position in pieces. Afterwards the position
 * is after the member. If no member begins at the position, the member is truncated, or its
 * checksum is wrong, throws {@link Damage} after the pieces that could be read.
 */
export async function* inflateMember(file: ArchiveFile): AsyncGenerator<Buffer, void> {
  const offset = file.position;
  const view = await file.peek(atOnceIn);
  const head = memberHeadLength(view);
  if (head === undefined) throw new Damage(offset, "No gzip member begins here");
  const whole = inflateAtOnce(view.subarray(head));
  if (whole !== undefined) {
    if (whole.bytes.length > 0) yield whole.bytes;
    file.seek(offset + head + whole.consumed);
    await checkTrailer(file, offset, crc32(whole.bytes), whole.bytes.length);
    return;
  }
  let sum = 0;
  let length = 0;
  for await (const piece of inflateFrom(file, offset, offset + head)) {
    sum = crc32(piece, sum);
    length += piece.length;
    yield piece;
  }
  await checkTrailer(file, offset, sum, length);
}

/**
 * Whether reading can continue at `view`: it begins with a member that contains a record, or with a
 * complete member.
 */
export function looksLikeMember(view: Buffer): boolean {
  const head = memberHeadLength(view);
  if (head === undefined) return false;
  const beginning = inflateBeginning(view.subarray(head));
  if (beginning?.subarray(0, 5).toString("latin1") === "WARC/") return true;
  const whole = beginning && inflateAtOnce(view.subarray(head));
  if (!whole || view.length < head + whole.consumed + trailerBytes) return false;
  return view.readUInt32LE(head + whole.consumed) === crc32(whole.bytes);
}

/**
 * Whether a member with a correct checksum begins at the file's position. Used for a member that is
 * longer than the window. Does not move the position.
 */
export async function isWholeMember(file: ArchiveFile): Promise<boolean> {
  const { position } = file;
  const view = await file.peek(atOnceIn);
  const head = memberHeadLength(view);
  if (head === undefined || !inflateBeginning(view.subarray(head))?.length) return false;
  try {
    for await (const _ of inflateMember(file));
    return true;
  } catch (error) {
    if (error instanceof Damage) return false;
    throw error;
  } finally {
    file.seek(position);
  }
}

/** Returns the length of the member's header, or `undefined` if there is none. */
function memberHeadLength(view: Buffer): number | undefined {
  if (view.length < 10 || view.compare(memberMagic, 0, 3, 0, 3) !== 0) return undefined;
  const flags = view[3]!;
  if (flags & flag.reserved) return undefined;
  let length = 10;
  if (flags & flag.extra) {
    if (view.length < length + 2) return undefined;
    length += 2 + view.readUInt16LE(length);
  }
  for (const named of [flag.name, flag.comment]) {
    if (!(flags & named)) continue;
    const end = view.subarray(0, longestNames).indexOf(0, length);
    if (end < 0) return undefined;
    length = end + 1;
  }
  if (flags & flag.crc) length += 2;
  return length < view.length ? length : undefined;
}

/** Most members are small. One call for each is several times as fast as a stream. */
function inflateAtOnce(view: Buffer): { bytes: Buffer; consumed: number } | undefined {
  try {
    const options: ZlibOptions = { info: true, maxOutputLength: atOnceOut, chunkSize: 64 * 1024 };
    const { buffer, engine } = inflateRawSync(view, options) as unknown as {
      buffer: Buffer;
      engine: { bytesWritten: number };
    };
    return { bytes: buffer, consumed: engine.bytesWritten };
  } catch {
    // The member is longer than the view or the limit, or it is damaged. The stream shows which.
    return undefined;
  }
}

function inflateBeginning(view: Buffer): Buffer | undefined {
  try {
    return inflateRawSync(view.subarray(0, 512), { finishFlush: zlib.Z_SYNC_FLUSH });
  } catch {
    return undefined;
  }
}

async function* inflateFrom(file: ArchiveFile, member: number, from: number): AsyncGenerator<Buffer, void> {
  // With the smallest high-water mark the inflater continues only after the reader took a piece. So
  // no piece is lost if the inflater fails.
  const options = { chunkSize: pieceOut, finishFlush: zlib.Z_SYNC_FLUSH, readableHighWaterMark: 1 };
  const inflate = createInflateRaw(options);
  const feeding = feed(file.piecesFrom(from), inflate);
  try {
    for await (const piece of inflate) yield piece as Buffer;
  } catch (error) {
    if (isZlibError(error)) throw new Damage(member, `The gzip member is damaged (${error.message})`);
    throw error;
  } finally {
    inflate.destroy();
    await feeding;
  }
  file.seek(from + inflate.bytesWritten);
}

/**
 * Writes until everything is written or the inflater has reached the end of its stream. If a read
 * fails, the inflater fails too.
 */
async function feed(
  pieces: AsyncIterable<Buffer>,
  inflate: ReturnType<typeof createInflateRaw>,
): Promise<void> {
  try {
    for await (const piece of pieces) {
      await new Promise<void>((resolve) => {
        inflate.once("close", resolve);
        inflate.write(piece, () => {
          inflate.off("close", resolve);
          resolve();
        });
      });
      if (inflate.destroyed) return;
    }
    inflate.end();
  } catch (error) {
    inflate.destroy(error as Error);
  }
}

function isZlibError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && ((error as NodeJS.ErrnoException).code ?? "").startsWith("Z_");
}

async function checkTrailer(file: ArchiveFile, member: number, sum: number, length: number): Promise<void> {
  const trailer = await file.peek(trailerBytes);
  if (trailer.length < trailerBytes)
    throw new Damage(member, "The file ends inside this gzip member: it is truncated");
  if (trailer.readUInt32LE(0) !== sum || trailer.readUInt32LE(4) !== length % 2 ** 32) {
    throw new Damage(member, "The gzip member is damaged (its check sum is another)");
  }
  file.skip(trailerBytes);
}
