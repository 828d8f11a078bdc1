import { cpuSeconds } from "../harness/usage.js";

export interface Clients {
  /** Clients that each wait for an operation before the next. */
  readonly clients: number;
  readonly seconds: number;
}

/** What all clients did together. */
export interface Rate {
  readonly perSecond: number;
  /** Operations in a second of this process's processor time, all threads. */
  readonly perCpuSecond: number;
  readonly operations: number;
  readonly seconds: number;
}

/**
 * Lets clients repeat a step until the time is over. A step returns how many operations it was.
 * Throws the first failure of a step.
 */
export async function runClients(
  { clients, seconds }: Clients,
  step: (client: number) => Promise<number>,
): Promise<Rate> {
  const [cpu, began] = [process.cpuUsage(), performance.now()];
  const until = began + seconds * 1_000;
  let operations = 0;
  const client = async (_: unknown, number: number) => {
    while (performance.now() < until) {
      // Not `operations += await`, which would forget what other clients add meanwhile.
      const done = await step(number);
      operations += done;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  const took = (performance.now() - began) / 1_000;
  return {
    perSecond: operations / took,
    perCpuSecond: operations / cpuSeconds(cpu),
    operations,
    seconds: took,
  };
}

/** The last committed write of each cell, to check the table in the end. */
export class LastWrites {
  readonly #last = new Map<number, { readonly at: number; readonly salt: number }>();

  /** Records a write when its transaction has committed. */
  add(cell: number, salt: number, at: number): void {
    if ((this.#last.get(cell)?.at ?? 0) < at) this.#last.set(cell, { at, salt });
  }

  /** The salt of the last write, or 0 if there was none. */
  saltOf(cell: number): number {
    return this.#last.get(cell)?.salt ?? 0;
  }
}
