import type { ChildProcess } from "node:child_process";
import type { RowStore } from "percolatordb";

/**
 * A store in one process that other processes use over their channels. A process that is paused or
 * killed holds no lock that the others need, as with a store on another machine. Only the calls
 * that a lease needs are available.
 */
type ZeroCopyCall = "prepare" | "readRow" | "mutate";

interface Request {
  readonly id: number;
  readonly call: ZeroCopyCall;
  readonly argument: unknown;
}

interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

/** Serves a store to a child, which was started with `serialization: "advanced"`. */
export function zeroCopyStore(store: RowStore, child: ChildProcess): void {
  const answer = async ({ id, call, argument }: Request): Promise<Answer> => {
    try {
      return { id, value: await (store[call] as (argument: unknown) => unknown)(argument) };
    } catch (error) {
      return { id, error: String(error) };
    }
  };
  child.on("message", (request: Request) => {
    void answer(request).then((message) => {
      if (child.connected) child.send(message, () => undefined);
    });
  });
}

/** Returns the store that the parent of this process lends to it. */
export function lentStore(): RowStore {
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  let ids = 0;
  process.on("message", ({ id, value, error }: Answer) => {
    const asked = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) asked?.resolve(value);
    else asked?.reject(new Error(error));
  });
  const ask = (call: ZeroCopyCall) => (argument: unknown) =>
    new Promise((resolve, reject) => {
      const id = ++ids;
      waiting.set(id, { resolve, reject });
      process.send!({ id, call, argument } satisfies Request);
    });
  const lent = {
    description: "the store of the parent process",
    atomic: undefined,
    prepare: ask("prepare"),
    readRow: ask("readRow"),
    mutate: ask("mutate"),
    close: async () => process.disconnect(),
  };
  return lent as unknown as RowStore;
}
