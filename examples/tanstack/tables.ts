import { feed, int, table, text } from "percolatordb";

export const customers = table("customers", { name: text(), city: text() });
export const orders = table("orders", { customer: text(), total: int(), state: text() });

/** What browsers see of the tables, and may write. */
export const customerFeed = feed("customer-feed", [customers.name, customers.city]);
export const orderFeed = feed("order-feed", [orders.customer, orders.total, orders.state]);
