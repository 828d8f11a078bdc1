import { type Observer, observer, type Snapshot, type Transaction } from "percolatordb";
import type { Auction, Bid, Person } from "./events.js";
import {
  auctions,
  bids,
  counts,
  panes,
  persons,
  q1,
  q2,
  q3,
  q4,
  q5,
  q6,
  q7,
  q8,
  sellers,
  sold,
  soldBy,
  winning,
} from "./tables.js";

/*
 * Nexmark's queries 1 to 8 as observers. Events are never changed or deleted, so the observers
 * handle only new values.
 *
 * A join has an observer on each side, and each side reads the events of the other, not what the
 * other observer wrote. Whichever event is committed second is therefore seen together with the
 * first.
 */

/** Thousandths of a cent: 0.908 euros a dollar, as a whole number. */
export const inEuros = (price: number) => price * 908;
export const isSelected = (auction: number) => auction % 123 === 0;
export const localCategory = 10;
export const localStates: readonly string[] = ["OR", "ID", "CA"];
export const paneMs = 2_000;
export const panesOfWindow = 5;
export const windowMs = 10_000;
export const soldAuctions = 10;
export const parts = 16;

export const paneOf = (time: number) => Math.trunc(time / paneMs);
export const windowOf = (time: number) => Math.trunc(time / windowMs);

export type Query = "q1" | "q2" | "q3" | "q4" | "q5" | "q6" | "q7" | "q8";

const convert = observer("q1", bids.event, (tx, { row, value }) =>
  tx.set(q1.price, row, inEuros(value!.price)),
);

const select = observer("q2", bids.event, (tx, { row, value }) => {
  if (isSelected(value!.auction)) tx.set(q2.price, row, value!.price);
});

export const isLocal = (person: Person) => localStates.includes(person.state);

function setLocal(tx: Transaction, auction: Auction, { name, city, state }: Person): void {
  tx.set(q3.seller, [auction.id], { name, city, state });
}

const localAuctions = observer("q3-auctions", auctions.event, async (tx, { value }) => {
  if (value!.category !== localCategory) return;
  const seller = await tx.get(persons.event, [value!.seller]);
  if (seller !== undefined && isLocal(seller)) setLocal(tx, value!, seller);
});

const localPersons = observer("q3-persons", persons.event, async (tx, { value }) => {
  if (!isLocal(value!)) return;
  for await (const { value: auction } of tx.scan(sellers.auction, { prefix: [value!.id] }))
    if (auction.category === localCategory) setLocal(tx, auction, value!);
});

export const isInTime = (bid: Bid, auction: Auction) =>
  bid.time >= auction.time && bid.time <= auction.expires;

const winningBids = observer("winning-bids", bids.event, async (tx, { value: bid }) => {
  const key = [bid!.auction] as const;
  const auction = await tx.get(auctions.event, key);
  if (auction === undefined || !isInTime(bid!, auction)) return;
  if (bid!.price > ((await tx.get(winning.price, key)) ?? 0)) tx.set(winning.price, key, bid!.price);
});

/** Handles the bids that came before their auction's event was committed. */
const winningAuctions = observer("winning-auctions", auctions.event, async (tx, { value: auction }) => {
  const before = (await tx.get(winning.price, [auction!.id])) ?? 0;
  let highest = before;
  for await (const { value: bid } of tx.scan(bids.event, { prefix: [auction!.id] }))
    if (isInTime(bid, auction!)) highest = Math.max(highest, bid.price);
  if (highest > before) tx.set(winning.price, [auction!.id], highest);
});

const averages = observer("q4", winning.price, async (tx, { row: [id], value, previous }) => {
  const auction = await tx.get(auctions.event, [id]);
  const key = [auction!.category, id % parts] as const;
  tx.set(q4.sum, key, ((await tx.get(q4.sum, key)) ?? 0) + value! - (previous ?? 0));
  if (previous === undefined) tx.set(q4.count, key, ((await tx.get(q4.count, key)) ?? 0) + 1);
});

const countBids = observer("q5-counts", bids.event, async (tx, { row: [auction, number], value }) => {
  const pane = paneOf(value!.time);
  const key = [pane, auction, number % parts] as const;
  tx.set(counts.bids, key, ((await tx.get(counts.bids, key)) ?? 0) + 1);
  tx.notify(panes.changed, [pane]);
});

const hotItems = observer("q5", panes.changed, async (tx, { row: [pane] }) => {
  const first = Math.max(0, pane - panesOfWindow + 1);
  const last = pane + panesOfWindow - 1;
  const byPane = new Map<number, ReadonlyMap<number, number>>();
  for (let each = first; each <= last; each++) byPane.set(each, await bidsOfPane(tx, each));
  for (let window = pane; window <= last; window++) {
    const all = Array.from({ length: panesOfWindow }, (_, back) => byPane.get(window - back));
    tx.set(q5.hot, [window], hottest(all.filter((each) => each !== undefined)));
  }
});

async function bidsOfPane(tx: Transaction, pane: number): Promise<ReadonlyMap<number, number>> {
  const found = new Map<number, number>();
  for await (const { row, value } of tx.scan(counts.bids, { prefix: [pane] }))
    found.set(row[1], (found.get(row[1]) ?? 0) + value);
  return found;
}

/** The auctions with the most bids in some panes together. */
export function hottest(all: readonly ReadonlyMap<number, number>[]) {
  const sums = new Map<number, number>();
  for (const pane of all)
    for (const [auction, count] of pane) sums.set(auction, (sums.get(auction) ?? 0) + count);
  const most = Math.max(...sums.values());
  const hot = [...sums].filter(([, count]) => count === most).map(([auction]) => auction);
  return { auctions: hot.sort((one, other) => one - other), bids: most };
}

const soldPrices = observer("q6-prices", winning.price, async (tx, { row: [id], value }) => {
  const { seller, expires } = (await tx.get(auctions.event, [id]))!;
  tx.set(sold.price, [seller, expires, id], value!);
  tx.notify(soldBy.changed, [seller]);
});

const sellerAverages = observer("q6", soldBy.changed, async (tx, { row: [seller] }) => {
  let [sum, count] = [0, 0];
  for await (const { value } of tx.scan(sold.price, {
    prefix: [seller],
    reverse: true,
    limit: soldAuctions,
  })) {
    sum += value;
    count++;
  }
  tx.set(q6.sum, [seller], sum);
  tx.set(q6.count, [seller], count);
});

const highestBids = observer("q7", bids.event, async (tx, { row: [, number], value: bid }) => {
  const key = [windowOf(bid!.time)] as const;
  const found = await tx.get(q7.highest, key);
  if (found !== undefined && found.price > bid!.price) return;
  const equals = found?.price === bid!.price ? found.bids : [];
  const numbers = [...equals, number].sort((one, other) => one - other);
  tx.set(q7.highest, key, { price: bid!.price, bids: numbers });
});

export const isNewSeller = (person: Person, auction: Auction) =>
  windowOf(person.time) === windowOf(auction.time);

function setNew(tx: Transaction, { id, name, time }: Person): void {
  tx.set(q8.user, [id], { name, window: windowOf(time) });
}

const newSellers = observer("q8-auctions", auctions.event, async (tx, { value: auction }) => {
  const person = await tx.get(persons.event, [auction!.seller]);
  if (person !== undefined && isNewSeller(person, auction!)) setNew(tx, person);
});

const newPersons = observer("q8-persons", persons.event, async (tx, { value: person }) => {
  for await (const { value: auction } of tx.scan(sellers.auction, { prefix: [person!.id] }))
    if (isNewSeller(person!, auction)) return setNew(tx, person!);
});

export const observersOf: Readonly<Record<Query, readonly Observer[]>> = {
  q1: [convert],
  q2: [select],
  q3: [localAuctions, localPersons],
  q4: [winningBids, winningAuctions, averages],
  q5: [countBids, hotItems],
  q6: [winningBids, winningAuctions, soldPrices, sellerAverages],
  q7: [highestBids],
  q8: [newSellers, newPersons],
};

export const queries = Object.keys(observersOf) as readonly Query[];

/** A query's answer: lines of JSON, in no order. */
export type Answer = ReadonlySet<string>;

/** A row of an answer as JSON, with its columns in the order of their names. */
export function lineOf(row: readonly number[], value: object): string {
  const columns = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify([row, Object.fromEntries(columns)]);
}

/** Reads a query's answer from its table. */
export async function answerOf(query: Query, snapshot: Snapshot): Promise<Answer> {
  const lines = new Set<string>();
  if (query === "q4") return averagesOf(snapshot);
  const from = { q1, q2, q3, q5, q6, q7, q8 }[query];
  for await (const { row, value } of snapshot.scan(from)) lines.add(lineOf(row, value));
  return lines;
}

/** Adds the parts of each category. */
async function averagesOf(snapshot: Snapshot): Promise<Answer> {
  const all = new Map<number, { sum: number; count: number }>();
  for await (const { row, value } of snapshot.scan(q4)) {
    const before = all.get(row[0]) ?? { sum: 0, count: 0 };
    all.set(row[0], { sum: before.sum + (value.sum ?? 0), count: before.count + (value.count ?? 0) });
  }
  return new Set([...all].map(([category, { sum, count }]) => lineOf([category], { sum, count })));
}
