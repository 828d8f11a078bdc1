import type { Pool } from "pg";
import { pause } from "../harness/pause.js";

export interface WriterOptions {
  /** Orders and customers that exist. */
  readonly orders: number;
  readonly customers: number;
  /** SQL writes a second. */
  readonly rate: number;
}

/** SQL writers that send a fixed count of statements a second, however long each takes. */
export class Writers {
  readonly #pool: Pool;
  readonly #options: WriterOptions;
  #number = 0;
  #isEnded = false;

  constructor(pool: Pool, options: WriterOptions) {
    this.#pool = pool;
    this.#options = options;
  }

  /** Lets the writes end. */
  end(): void {
    this.#isEnded = true;
  }

  /** Writes for `ms` milliseconds, and until {@link end}. Delays count from when a write was due. */
  async during(ms: number): Promise<readonly number[]> {
    this.#isEnded = false;
    const delays: number[] = [];
    const running = new Set<Promise<void>>();
    const began = performance.now();
    for (let count = 0; ; count++) {
      const due = began + (count * 1_000) / this.#options.rate;
      if (due - began >= ms && this.#isEnded) break;
      const wait = due - performance.now();
      if (wait > 0) await pause(wait);
      const write = this.#write().then(() => void delays.push(performance.now() - due));
      running.add(write);
      void write.then(() => running.delete(write));
    }
    await Promise.all(running);
    return delays;
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
