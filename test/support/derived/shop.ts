import { int, type Snapshot, table, text, tuple } from "percolatordb";
import { derive } from "percolatordb/recipes";

/** A shop with orders and customers, everything that can be derived from them, and the same in plain JavaScript. */

export const orders = table(
  "orders",
  { day: text(), total: int(), customer: text() },
  { key: tuple(text()) },
);
export const customers = table("customers", { name: text(), city: text() });

export interface Order {
  readonly day?: string | undefined;
  readonly total?: number | undefined;
  readonly customer?: string | undefined;
}

export interface Customer {
  readonly name?: string | undefined;
  readonly city?: string | undefined;
}

export const byDay = derive("by_day", {
  from: orders,
  key: [text()],
  groupBy: (order) => [order.day],
  count: true,
  sum: (order) => order.total,
  min: (order) => order.total,
  max: (order) => order.total,
  top: { n: 3, by: (order) => order.total },
});

export const all = derive("all_orders", { from: orders, reads: ["total"], count: true, sum: (o) => o.total });

/** A derivation from a derived table: days by the number of their orders. */
export const bySize = derive("by_size", {
  from: byDay.table,
  reads: ["count", "sum"],
  key: [int()],
  groupBy: (day) => [day.count],
  count: true,
  sum: (day) => day.sum,
});

export const byCity = derive("by_city", {
  from: customers,
  key: [text()],
  index: ({ city, name }) => [city, name].filter((each) => each !== undefined).map((each) => [each] as const),
});

const columns = { total: int(), name: text() };

export const named = derive("named", {
  from: orders,
  join: customers,
  on: (order) => order.customer,
  columns,
  select: (order, customer) => ({ total: order.total, name: customer.name ?? "?" }),
});

export const maybeNamed = derive("maybe_named", {
  from: orders,
  leftJoin: customers,
  on: (order) => order.customer,
  columns,
  select: (order, customer) => ({ total: order.total, name: customer?.name ?? "nobody" }),
});

/** A derivation from a join. */
export const byName = derive("by_name", {
  from: named.table,
  key: [text()],
  groupBy: (row) => [row.name],
  count: true,
  max: (row) => row.total,
});

export const derivations = [byDay, all, bySize, byCity, named, maybeNamed, byName] as const;

export const shop = {
  tables: [orders, customers, ...derivations.flatMap((each) => each.tables)],
  observers: derivations.flatMap((each) => each.observers),
};

/** Derived rows: for each derivation, from the key as text to the row. */
type Rows = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Returns what every derived table must hold, computed from plain maps. */
export function expectedOf(
  orderRows: ReadonlyMap<string, Order>,
  customerRows: ReadonlyMap<string, Customer>,
): Readonly<Record<string, Rows>> {
  const orderList = [...orderRows].filter(([, order]) => Object.values(order).some((v) => v !== undefined));
  const days = new Map<string, [string, Order][]>();
  for (const [id, order] of orderList) {
    if (order.day !== undefined) days.set(order.day, [...(days.get(order.day) ?? []), [id, order]]);
  }
  const byDayRows = Object.fromEntries([...days].map(([day, list]) => [JSON.stringify([day]), dayOf(list)]));
  const totals = orderList.flatMap(([, { total }]) => (total === undefined ? [] : [total]));
  const sizes = new Map<number, { count: number; sum: number }>();
  for (const { count, sum } of Object.values(byDayRows)) {
    const size = sizes.get(count) ?? { count: 0, sum: 0 };
    sizes.set(count, { count: size.count + 1, sum: size.sum + sum });
  }
  const entries: Record<string, { entry: boolean }> = {};
  for (const [id, { name, city }] of customerRows) {
    for (const term of [name, city])
      if (term !== undefined) entries[JSON.stringify([term, id])] = { entry: true };
  }
  const inner: Record<string, { total?: number; name: string }> = {};
  const left: Record<string, { total?: number; name: string }> = {};
  const names = new Map<string, { count: number; max?: number }>();
  for (const [id, { total, customer: key }] of orderList) {
    const customer = key === undefined ? undefined : customerRows.get(key);
    const isThere = customer !== undefined && (customer.name !== undefined || customer.city !== undefined);
    const known = total === undefined ? {} : { total };
    left[JSON.stringify([id])] = { ...known, name: (isThere ? customer.name : undefined) ?? "nobody" };
    if (!isThere) continue;
    const name = customer.name ?? "?";
    inner[JSON.stringify([id])] = { ...known, name };
    const of = names.get(name) ?? { count: 0 };
    const max = total === undefined ? of.max : Math.max(total, of.max ?? total);
    names.set(name, { count: of.count + 1, ...(max === undefined ? {} : { max }) });
  }
  return {
    by_day: byDayRows,
    all_orders: totals.length === 0 ? {} : { all: { count: totals.length, sum: sumOf(totals) } },
    by_size: Object.fromEntries([...sizes].map(([size, value]) => [JSON.stringify([size]), value])),
    by_city: entries,
    named: inner,
    maybe_named: left,
    by_name: Object.fromEntries([...names].map(([name, value]) => [JSON.stringify([name]), value])),
  };
}

function dayOf(list: readonly (readonly [string, Order])[]) {
  const ranked = list
    .flatMap(([id, { total }]) => (total === undefined ? [] : [{ by: total, row: JSON.stringify([id]) }]))
    .sort((a, b) => b.by - a.by || (a.row < b.row ? 1 : -1));
  return {
    count: list.length,
    sum: sumOf(ranked.map(({ by }) => by)),
    ...(ranked.length === 0 ? {} : { min: ranked.at(-1)!.by, max: ranked[0]!.by, top: ranked.slice(0, 3) }),
  };
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a + b, 0);
}

/** Returns what the derived tables hold in a snapshot. */
export async function actualOf(snapshot: Snapshot): Promise<Readonly<Record<string, Rows>>> {
  const found: Record<string, Record<string, Record<string, unknown>>> = {};
  for (const { name, table: derived } of derivations) {
    const rows: Record<string, Record<string, unknown>> = {};
    for await (const { row, value } of snapshot.scan(derived)) {
      rows[typeof row === "string" ? row : JSON.stringify(row)] = { ...value };
    }
    found[name] = rows;
  }
  return found;
}
