import { crc32, createInflateRaw, inflateRawSync, type ZlibOptions, constants as zlib } from "node:zlib";
import type { ArchiveFile } from "./file.js";

/** Bytes of an archive that cannot be read. `offset` is where what is damaged begins. */
export class Damage extends Error {
  readonly offset: number;

  constructor(offset: number, message: string) {
    super(message);
    this.name = "Damage";
    this.offset = offset;
  }
}

/** What begins a gzip member: two bytes of magic, and deflate, the one method there is. */
export const memberMagic = Buffer.from([0x1f, 0x8b, 0x08]);

/**
 * A member is inflated in one go when it needs no more of the file than this, and gives no more
 * than that.
 */
const atOnceIn = 64 * 1024;
const atOnceOut = 4 * 1024 * 1024;
/** Of a member that is damaged on the way, at most so many bytes before the damage are lost. */
const pieceOut = 4 * 1024;
const longestNames = 64 * 1024;
const trailerBytes = 8;

const flag = { crc: 2, extra: 4, name: 8, comment: 16, reserved: 0xe0 } as const;

/**
 * What the gzip member at the file's position holds, piece by piece; the position then is behind
 * the member. Throws {@link Damage} if the member is none, breaks off, or fails its check sum,
 * after the pieces before that.
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
 * Whether `view` begins with a member that holds a record, or one that is whole: where reading can
 * go on.
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
 * Whether a member begins at the file's position that is longer than can be seen at once, and has
 * its check sum. Stays there.
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

/** The length of the member's header, or `undefined` if there is none. */
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

/**
 * Most members are small, and inflating them in one call is several times as fast as a stream for
 * each.
 */
function inflateAtOnce(view: Buffer): { bytes: Buffer; consumed: number } | undefined {
  try {
    const options: ZlibOptions = { info: true, maxOutputLength: atOnceOut, chunkSize: 64 * 1024 };
    const { buffer, engine } = inflateRawSync(view, options) as unknown as {
      buffer: Buffer;
      engine: { bytesWritten: number };
    };
    return { bytes: buffer, consumed: engine.bytesWritten };
  } catch {
    // Longer than the view, or than the limit, or damaged: the stream tells.
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
  // With the smallest mark the inflater goes on only when a piece was taken, so none is lost when
  // it fails.
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
 * Writes until all is written or the inflater has seen the end of its stream. A failing read fails
 * the inflater.
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
