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
 * Reads the items of each observer: at most `max` of each, so that an observer with very many hides
 * no other one. Each may take an equal part of the time that is left. Returns whether there may be
 * more.
 */
export async function readOfEach<T>(
  observers: readonly string[],
  max: number,
  time: ReadingTime,
  list: (observer: string, signal: AbortSignal | undefined) => AsyncIterable<T>,
  use: (item: T) => void,
): Promise<boolean> {
  const { environment } = time;
  const endsAt = environment.monotonic() + time.timeMs;
  let isMore = false;
  for (const [index, observer] of observers.entries()) {
    const timeMs = Math.max(1, (endsAt - environment.monotonic()) / (observers.length - index));
    const ended = await readWithin({ ...time, timeMs }, async (signal) => {
      let count = 0;
      for await (const item of list(observer, signal)) {
        if (count++ === max) {
          isMore = true;
          return;
        }
        use(item);
      }
    });
    isMore ||= !ended;
  }
  return isMore;
}
