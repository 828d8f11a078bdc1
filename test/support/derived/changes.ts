import type { Database, Transaction } from "percolatordb";
import { type Customer, customers, type Order, orders } from "./shop.js";

/** A source of random numbers with a seed, so that a failure can be repeated. */
export function seeded(seed: number): (below: number) => number {
  let state = seed >>> 0 || 1;
  return (below) => {
    // xorshift32
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % below;
  };
}

/** A shop's rows, in the database and in plain maps. */
export class RandomShop {
  readonly orders = new Map<string, Order>();
  readonly customers = new Map<string, Customer>();
  readonly #next: (below: number) => number;
  readonly #size: number;

  /** `size`: how many orders there can be. A fourth as many customers, and few days. */
  constructor(seed: number, size: number) {
    this.#next = seeded(seed);
    this.#size = size;
  }

  /** Commits a number of random inserts, updates and deletes, several a transaction, in this order. */
  async change(db: Database, operations: number, inTransaction: number): Promise<void> {
    for (let done = 0; done < operations; done += inTransaction) {
      const steps = Array.from({ length: Math.min(inTransaction, operations - done) }, () => this.#step());
      await db.transact(async (tx) => {
        for (const step of steps) await step(tx);
      });
    }
  }

  /** Chooses a change, makes it in the maps, and returns the function that makes it in a transaction. */
  #step(): (tx: Transaction) => Promise<void> | void {
    const next = this.#next;
    if (next(5) === 0) {
      const id = `c${next(Math.max(1, this.#size >> 2))}`;
      const [name, city] = [`name ${next(4)}`, `city ${next(3)}`];
      return this.#changeCustomer(id, next(6), name, city);
    }
    const id = `o${next(this.#size)}`;
    const order = {
      day: `day ${next(4)}`,
      total: next(10) - 3,
      customer: `c${next(Math.max(1, this.#size >> 2))}`,
    };
    return this.#changeOrder(id, next(8), order);
  }

  #changeCustomer(id: string, kind: number, name: string, city: string): (tx: Transaction) => void {
    const before = this.customers.get(id) ?? {};
    if (kind === 0) {
      this.customers.delete(id);
      return (tx) => {
        tx.delete(customers.name, id);
        tx.delete(customers.city, id);
      };
    }
    const change: Customer = kind < 3 ? { name } : kind < 5 ? { city } : { name, city };
    this.customers.set(id, { ...before, ...change });
    return (tx) => {
      if (change.name !== undefined) tx.set(customers.name, id, change.name);
      if (change.city !== undefined) tx.set(customers.city, id, change.city);
    };
  }

  #changeOrder(id: string, kind: number, order: Required<Order>): (tx: Transaction) => Promise<void> | void {
    if (kind === 0) {
      this.orders.delete(id);
      return (tx) => tx.deleteRow(orders, [id]);
    }
    const before = this.orders.get(id) ?? {};
    if (kind === 1) {
      this.orders.set(id, { ...before, total: undefined });
      return (tx) => tx.delete(orders.total, [id]);
    }
    const names = (["day", "total", "customer"] as const).filter(
      (_, index) => kind < 4 || kind - 5 === index,
    );
    this.orders.set(id, { ...before, ...Object.fromEntries(names.map((name) => [name, order[name]])) });
    return (tx) => {
      for (const name of names) {
        if (name === "total") tx.set(orders.total, [id], order.total!);
        else tx.set(orders[name], [id], order[name]!);
      }
    };
  }
}
