import { pause } from "../../support/waiting.js";
import type { Shop } from "./shop.js";

/** SQL writers that go on while the server is away. A statement may or may not have been committed. */
export class Writers {
  writes = 0;
  #isOver = false;
  readonly #running: readonly Promise<void>[];

  constructor(shop: Shop, count: number) {
    this.#running = Array.from({ length: count }, (_, writer) => this.#run(shop, writer));
  }

  async progress(count: number): Promise<void> {
    const until = this.writes + count;
    while (this.writes < until) await pause(5);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#running);
  }

  async #run(shop: Shop, writer: number): Promise<void> {
    for (let i = 0; !this.#isOver; i++) {
      const id = (i * 7 + writer * 13) % 40;
      const statements = [
        `insert into T.orders values (${id}, 'w', ${i}) on conflict (id) do update set total = excluded.total`,
        `update T.orders set total = total + 1 where id = ${id}; update T.orders set total = total - 1 where id = ${(id + 1) % 40}`,
        `delete from T.orders where id = ${id}`,
        `update T.orders set id = ${100 + (i % 20)} where id = ${id} and not exists (select from T.orders where id = ${100 + (i % 20)})`,
      ];
      try {
        await shop.sql(statements[i % statements.length]!);
        this.writes++;
      } catch {
        // A conflict of two writers, or the server is away.
        await pause(5);
      }
    }
  }
}
