import { ByteReader } from "./bytes.js";
import type { ArchiveFile } from "./file.js";
import { Damage, looksLikeMember, memberMagic } from "./member.js";
import { findRecord, readRecord, skipLineEnds, type WarcRecord } from "./record.js";
import { GzipStretches, PlainStretches, type Stretches } from "./stretches.js";

/** A record, or the reason why one could not be read. */
export type Entry =
  | { readonly kind: "record"; readonly record: WarcRecord }
  | {
      readonly kind: "fault";
      readonly what: "damage" | "digest";
      readonly offset: number;
      readonly message: string;
      readonly url?: string;
    };

type Fault = Extract<Entry, { kind: "fault" }>;

/**
 * Yields every readable record of an archive in order, and every place at which one cannot be read.
 */
export async function* readRecords(file: ArchiveFile): AsyncGenerator<Entry, void> {
  const stretches = await stretchesOf(file);
  let lost = false;
  // The latest fault is held back until the next entry. If its gzip member turns out to be damaged,
  // the damage is reported instead, because it explains the fault.
  let waiting: Fault | undefined;
  for (;;) {
    try {
      if (!(await stretches.advance())) break;
      for await (const entry of recordsOf(stretches, lost)) {
        if (waiting) yield waiting;
        waiting = entry.kind === "fault" ? entry : undefined;
        if (entry.kind === "record") yield entry;
      }
      lost = false;
    } catch (error) {
      if (!(error instanceof Damage)) throw error;
      const { offset } = error;
      if (waiting && waiting.offset !== offset) yield waiting;
      const url = waiting?.offset === offset ? waiting.url : undefined;
      const more = await stretches.recover(error);
      const after = more ? `reading goes on at byte ${file.position}` : "no record follows";
      const message = `${error.message}; ${after}`;
      waiting = { kind: "fault", what: "damage", offset, message, ...(url === undefined ? {} : { url }) };
      lost = true;
    }
  }
  if (waiting) yield waiting;
}

/**
 * If a file begins like neither format, its beginning is damaged. Then the reader searches this
 * many bytes for the beginning of a record or of a gzip member.
 */
const longestDamagedBeginning = 1024 * 1024;

async function stretchesOf(file: ArchiveFile): Promise<Stretches> {
  return (await isGzip(file)) ? new GzipStretches(file) : new PlainStretches(file);
}

async function isGzip(file: ArchiveFile): Promise<boolean> {
  const beginning = (await file.peek(8)).subarray(0, 5);
  if (beginning.toString("latin1") === "WARC/") return false;
  if (beginning.subarray(0, 2).equals(memberMagic.subarray(0, 2))) return true;
  const view = (await file.peek(longestDamagedBeginning)).subarray(0, longestDamagedBeginning);
  const record = view.indexOf("\nWARC/1.");
  for (let at = view.indexOf(memberMagic); at >= 0; at = view.indexOf(memberMagic, at + 1)) {
    if (record >= 0 && at > record) break;
    if (looksLikeMember(view.subarray(at, at + 64 * 1024))) return true;
  }
  return record < 0 && file.path.endsWith(".gz");
}

/**
 * `lost`: the position may be in the middle of a record, so unknown bytes before the first record
 * are expected.
 */
async function* recordsOf(stretches: Stretches, lost: boolean): AsyncGenerator<Entry, void> {
  const reader = new ByteReader(stretches);
  if (lost && (await reader.peek(5)).toString("latin1") === "WARC/") lost = false;
  // A record whose member's checksum is not read yet, and the entries after it.
  const unchecked: Entry[] = [];
  for (;;) {
    await skipLineEnds(reader);
    if (reader.held.length === 0) break;
    const offset = reader.offset;
    const found = await readRecord(reader, lost);
    // Data directly before damage cannot be trusted, because the damage is detected later than it
    // begins.
    if (reader.damage && (await reader.peek(1)).length === 0) break;
    if (found.kind === "record") {
      lost = false;
      const entry: Entry = { kind: "record", record: { ...found.record, offset } };
      if (found.unchecked) {
        unchecked.push(entry);
        continue;
      }
      yield entry;
      if (found.warning) yield { kind: "fault", what: "damage", offset, message: found.warning };
      continue;
    }
    const { at, message, url } = found;
    const explained = at === "digest" ? false : reader.damage !== undefined || (lost && at === "head");
    const what = at === "digest" ? "digest" : "damage";
    if (!explained) {
      const fault: Entry = { kind: "fault", what, offset, message, ...(url === undefined ? {} : { url }) };
      if (unchecked.length > 0) unchecked.push(fault);
      else yield fault;
    }
    lost = at !== "digest";
    if (lost && !(await findRecord(reader))) break;
    // A record that follows confirms the unchecked entries as well as a checksum does.
    yield* unchecked.splice(0);
  }
  if (reader.damage) throw reader.damage;
  yield* unchecked;
}
