import { type FileHandle, open } from "node:fs/promises";
import type { Deliver, ExportEntry } from "./export-queue.js";
import { linesOf } from "./lines.js";

const newline = 0x0a;

/**
 * Delivers to a file: each entry is a line of JSON, `{"key":…,"sequence":…,"value":…}`, appended and flushed to the disk before it counts
 * as delivered. Keys and values must be what JSON carries. An entry can be there more than once: {@link readExportFile} gives each once.
 * Several processes of one machine may write the same file.
 *
 * @example
 * const orders = exportQueue("orders", { value: json<Order>(), deliver: exportToFile("orders.jsonl") });
 */
export function exportToFile(path: string): Deliver<unknown, unknown> {
  return async (entries, { signal }) => {
    signal.throwIfAborted();
    const lines = entries.map(({ key, sequence, value }) => `${JSON.stringify({ key, sequence, value })}\n`);
    const file = await open(path, "a+");
    try {
      // A process that died, or a disk that was full, can have left half a line.
      const begin = (await endsInHalfALine(file)) ? "\n" : "";
      // One write, which no other process gets between; `appendFile` makes several of a long text.
      const bytes = Buffer.from(begin + lines.join(""));
      const { bytesWritten } = await file.write(bytes);
      if (bytesWritten < bytes.length) {
        throw new Error(
          `Only ${bytesWritten} of ${bytes.length} bytes could be written to ${path}: is the disk full?`,
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
 * The entries of a file that {@link exportToFile} wrote: each once, those of a key in order. Half lines are passed over: what they began
 * to say was said again. Keeps the last sequence of every key in memory.
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

const beginning = '{"key":';

/** The entry of a line, or at the end of one that begins with half of another. */
function parseLine(line: string): ExportEntry<unknown, unknown> | undefined {
  for (let at = line.indexOf(beginning); at >= 0; at = line.indexOf(beginning, at + 1)) {
    try {
      const parsed = JSON.parse(line.slice(at)) as ExportEntry<unknown, unknown>;
      if (Number.isSafeInteger(parsed.sequence)) return parsed;
    } catch {
      // Half a line; another may follow in it.
    }
  }
  return undefined;
}
