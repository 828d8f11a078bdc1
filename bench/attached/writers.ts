import type { Pool } from "pg";
import { pause } from "../harness/pause.js";
import { quantile } from "../harness/statistics.js";
import type { Delays } from "./figure.js";

/** SQL writers that send a fixed count of statements a second, however long each takes. */
export class Writers {
  readonly #pool: Pool;
  readonly #options: { readonly orders: number; readonly customers: number; readonly rate: number };
  #number = 0;

  constructor(
    pool: Pool,
    options: { readonly orders: number; readonly customers: number; readonly rate: number },
  ) {
    this.#pool = pool;
    this.#options = options;
  }

  /** Writes for `ms` milliseconds, and until `work` is done. Delays count from when a write was due. */
  async during(ms: number, work: Promise<void> = Promise.resolve()): Promise<Delays> {
    let isDone = false;
    const worked = work.finally(() => {
      isDone = true;
    });
    // A failure is thrown below, when the writes have ended.
    worked.catch(() => undefined);
    const delays: number[] = [];
    const running = new Set<Promise<void>>();
    const began = performance.now();
    for (let count = 0; ; count++) {
      const due = began + (count * 1_000) / this.#options.rate;
      if (due - began >= ms && isDone) break;
      const wait = due - performance.now();
      if (wait > 0) await pause(wait);
      const write = this.#write().then(() => void delays.push(performance.now() - due));
      running.add(write);
      void write.then(() => running.delete(write));
    }
    await Promise.all(running);
    await worked;
    delays.sort((a, b) => a - b);
    return { count: delays.length, p50: quantile(delays, 0.5), p99: quantile(delays, 0.99) };
  }

  async #write(): Promise<void> {
    const number = ++this.#number;
    const { orders, customers } = this.#options;
    const id = 1 + ((number * 7_919) % orders);
    switch (number % 5) {
      case 0:
        await this.#run("insert into shop.orders values ($1, $2, 5, 'new')", [
          orders + number,
          number % customers,
        ]);
        return;
      case 1:
        await this.#run("update shop.orders set customer = $2 where id = $1", [id, number % customers]);
        return;
      case 2:
        await this.#run("delete from shop.orders where id = $1", [id]);
        return;
      default:
        await this.#run("update shop.orders set total = total + 1 where id = $1", [id]);
    }
  }

  async #run(query: string, values: readonly unknown[]): Promise<void> {
    await this.#pool.query(query, values as unknown[]);
  }
}
