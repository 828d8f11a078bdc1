/** Orders, and the export of every state of an order. */
import { json, type Transaction, table } from "percolatordb";
import { type Deliver, type ExportQueue, exportQueue } from "percolatordb/recipes";

export interface Order {
  readonly item: string;
  readonly state: "placed" | "paid" | "sent";
}

/** Orders by number. */
export const orders = table("orders", { order: json<Order>() });

/** The queue of all changes of orders. */
export function orderChanges(deliver: Deliver<Order>): ExportQueue<Order> {
  return exportQueue("order_changes", { value: json<Order>(), deliver });
}

/** Changes an order, and adds the change to the queue. Both are committed, or neither. */
export async function changeOrder(
  tx: Transaction,
  queue: ExportQueue<Order>,
  number: string,
  order: Order,
): Promise<void> {
  tx.set(orders.order, number, order);
  await queue.add(tx, number, order);
}
