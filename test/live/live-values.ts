import type { Database, LiveOptions, LiveRead, LiveValue } from "percolatordb";

/** A live query whose runs are counted. */
export interface CountedQuery<T> {
  readonly runs: number;
  next(): Promise<LiveValue<T>>;
  end(): Promise<void>;
}

/** The next value of a live query. */
export async function next<T>(values: AsyncGenerator<LiveValue<T>, void, undefined>): Promise<LiveValue<T>> {
  const { value, done } = await values.next();
  if (done === true) throw new Error("the live query has ended");
  return value;
}

export function counted<T>(db: Database, read: LiveRead<T>, options: LiveOptions = {}): CountedQuery<T> {
  let runs = 0;
  const values = db.live((snapshot) => {
    runs++;
    return read(snapshot);
  }, options);
  return {
    get runs() {
      return runs;
    },
    next: () => next(values),
    end: async () => {
      await values.return();
    },
  };
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** Some turns of the event loop, in which everything that can run does. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}
