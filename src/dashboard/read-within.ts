import type { Environment } from "../environment/index.js";
import { deadline } from "../transaction/index.js";

/** The time for which a look may read, and what ends it before. */
export interface ReadingTime {
  readonly environment: Environment;
  /** Aborted when the dashboard closes. The look then fails. */
  readonly closing: AbortSignal;
  readonly timeMs: number;
  /** What the look does, in words for messages. */
  readonly doing: string;
}

/**
 * Reads until `read` ends or its time is over. Returns whether it ended. What it has read by then
 * stays with it.
 */
export async function readWithin(
  { environment, closing, timeMs, doing }: ReadingTime,
  read: (signal: AbortSignal | undefined) => Promise<void>,
): Promise<boolean> {
  const { signal, end } = deadline(environment, closing, timeMs, doing);
  try {
    await read(signal);
    return true;
  } catch (error) {
    if (signal?.aborted && !closing.aborted) return false;
    throw error;
  } finally {
    end();
  }
}

/**
 * Reads the items of each observer: at most `max` of each, and all observers at the same time. So an
 * observer with very many items, or one that is slow to list, hides no other one. Returns whether there
 * may be more.
 */
export async function readOfEach<T>(
  observers: readonly string[],
  max: number,
  time: ReadingTime,
  list: (observer: string, signal: AbortSignal | undefined) => AsyncIterable<T>,
  use: (item: T) => void,
): Promise<boolean> {
  let isMore = false;
  const read = async (observer: string, signal: AbortSignal | undefined) => {
    let count = 0;
    for await (const item of list(observer, signal)) {
      isMore ||= count === max;
      if (count++ === max) return;
      use(item);
    }
  };
  const ended = await readWithin(time, async (signal) => {
    // Waits for all of them also if one fails: none uses an item after the end.
    const reads = await Promise.allSettled(observers.map((observer) => read(observer, signal)));
    const failed = reads.find(({ status }) => status === "rejected");
    if (failed?.status === "rejected") throw failed.reason;
  });
  return isMore || !ended;
}
