import { readFileSync } from "node:fs";

/** Memory of this process at one moment, in bytes. */
export interface MemorySample {
  /** Seconds since the samples began. */
  readonly at: number;
  /** All that is resident, with the pages of mapped files; LMDB maps its whole file. */
  readonly resident: number;
  /** Heap, buffers and stacks; undefined where the system does not tell. */
  readonly anonymous?: number | undefined;
  /** Of the heap, what is in use. */
  readonly heap: number;
  /** Buffers outside of the heap. */
  readonly external: number;
  /** Updates that were committed since the samples began. */
  readonly updates: number;
}

export function memoryNow(at: number, updates: number): MemorySample {
  const { rss, heapUsed, external } = process.memoryUsage();
  return { at, resident: rss, anonymous: anonymousBytes(), heap: heapUsed, external, updates };
}

function anonymousBytes(): number | undefined {
  try {
    const found = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "latin1"));
    return found === null ? undefined : Number(found[1]) * 1_024;
  } catch {
    return undefined;
  }
}
