import { type FileHandle, open } from "node:fs/promises";
import type { Deliver, ExportEntry } from "./export-queue.js";
import { linesOf } from "./lines.js";

const newline = 0x0a;
/** Begins an entry. No value can contain it, because `JSON.stringify` writes no space after a colon. */
const beginning = '{"key": ';

/**
 * Returns a `deliver` function that appends to a file. Each entry is a line of JSON,
 * `{"key":…,"sequence":…,"value":…}`, and is flushed to disk before it counts as delivered. JSON
 * must be able to represent the keys and values. The file may hold an entry more than once.
 * {@link readExportFile} yields each entry once. Several processes of one machine may write the
 * same file.
 *
 * @example
 * const orders = exportQueue("orders", { value: json<Order>(), deliver: exportToFile("orders.jsonl") });
 */
export function exportToFile(path: string): Deliver<unknown, unknown> {
  return async (entries, { signal }) => {
    signal.throwIfAborted();
    const lines = entries.map(({ key, sequence, value }) => {
      return `${beginning}${JSON.stringify(key)},${JSON.stringify({ sequence, value }).slice(1)}\n`;
    });
    const file = await open(path, "a+");
    try {
      // A process that died, or a full disk, may have left half a line.
      const begin = (await endsInHalfALine(file)) ? "\n" : "";
      // One write call, which no other process can interrupt. `appendFile` splits a long text into
      // several.
      const bytes = Buffer.from(begin + lines.join(""));
      const { bytesWritten } = await file.write(bytes);
      if (bytesWritten < bytes.length) {
        throw new Error(
          `Only ${bytesWritten} of ${bytes.length} bytes could be written to ${path}: check whether the disk is full.`,
        );
      }
      await file.datasync();
    } finally {
      await file.close();
    }
  };
}

async function endsInHalfALine(file: FileHandle): Promise<boolean> {
  const { size } = await file.stat();
  if (size === 0) return false;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] !== newline;
}

/**
 * Yields the entries of a file that {@link exportToFile} wrote. It yields each entry once, and the
 * entries of a key in order. It skips half lines, because their entries were delivered again. It
 * keeps the last sequence of every key in memory.
 */
export async function* readExportFile<V = unknown, K = string>(
  path: string,
): AsyncGenerator<ExportEntry<V, K>> {
  await using file = await open(path, "r");
  const last = new Map<string, number>();
  for await (const line of linesOf(file.createReadStream({ autoClose: false }))) {
    const entry = parseLine(line);
    if (entry === undefined) continue;
    const key = JSON.stringify(entry.key);
    if (entry.sequence <= (last.get(key) ?? 0)) continue;
    last.set(key, entry.sequence);
    yield entry as ExportEntry<V, K>;
  }
}

/**
 * Parses the entry of a line. If the line begins with half an entry, parses the whole entry that
 * follows.
 */
function parseLine(line: string): ExportEntry<unknown, unknown> | undefined {
  for (let at = 0; at >= 0; at = line.indexOf(beginning, at + 1)) {
    try {
      const parsed = JSON.parse(line.slice(at)) as ExportEntry<unknown, unknown>;
      const isEntry = Object.keys(parsed).join() === "key,sequence,value";
      if (isEntry && Number.isSafeInteger(parsed.sequence)) return parsed;
    } catch {
      // Half a line. Another entry may follow on the same line.
    }
  }
  return undefined;
}
