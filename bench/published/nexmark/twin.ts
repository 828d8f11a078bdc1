import type { Auction, Bid, NexmarkEvent, Person } from "./events.js";
import {
  type Answer,
  hottest,
  inEuros,
  isInTime,
  isLocal,
  isNewSeller,
  isSelected,
  lineOf,
  localCategory,
  paneOf,
  panesOfWindow,
  type Query,
  soldAuctions,
  windowOf,
} from "./queries.js";

/** The batch twin: the answers of the queries, computed at once from all events. */

interface All {
  readonly persons: ReadonlyMap<number, Person>;
  readonly auctions: ReadonlyMap<number, Auction>;
  readonly bids: readonly { readonly number: number; readonly bid: Bid }[];
}

type Line = readonly [row: readonly number[], value: object];

export function twinOf(query: Query, events: readonly NexmarkEvent[]): Answer {
  const persons = events.flatMap((event) => ("person" in event ? [event.person] : []));
  const auctions = events.flatMap((event) => ("auction" in event ? [event.auction] : []));
  const all: All = {
    persons: new Map(persons.map((person) => [person.id, person])),
    auctions: new Map(auctions.map((auction) => [auction.id, auction])),
    bids: events.flatMap((event) => ("bid" in event ? [event] : [])),
  };
  return new Set(answers[query](all).map(([row, value]) => lineOf(row, value)));
}

const answers: Readonly<Record<Query, (all: All) => readonly Line[]>> = {
  q1: ({ bids }) =>
    bids.map(({ number, bid: { auction, price } }) => [[auction, number], { price: inEuros(price) }]),
  q2: ({ bids }) =>
    bids
      .filter(({ bid: { auction } }) => isSelected(auction))
      .map(({ number, bid: { auction, price } }) => [[auction, number], { price }]),
  q3: ({ auctions, persons }) =>
    [...auctions.values()].flatMap(({ id, seller, category }): readonly Line[] => {
      const person = persons.get(seller);
      if (category !== localCategory || person === undefined || !isLocal(person)) return [];
      const { name, city, state } = person;
      return [[[id], { seller: { name, city, state } }]];
    }),
  q4(all) {
    const byCategory = groupBy([...winningOf(all)], ([{ category }]) => category);
    return [...byCategory].map(([category, won]) => [[category], sumOf(won.map(([, price]) => price))]);
  },
  q5({ bids }) {
    const byPane = groupBy(bids, ({ bid }) => paneOf(bid.time));
    const counted = new Map(
      [...byPane].map(([pane, those]) => [pane, countOf(those.map(({ bid }) => bid.auction))]),
    );
    const windows = new Set(
      [...byPane.keys()].flatMap((pane) => [...Array(panesOfWindow).keys()].map((up) => pane + up)),
    );
    return [...windows].map((window) => {
      const panes = [...counted].filter(([pane]) => pane <= window && pane > window - panesOfWindow);
      return [[window], { hot: hottest(panes.map(([, counts]) => counts)) }];
    });
  },
  q6(all) {
    const bySeller = groupBy([...winningOf(all)], ([{ seller }]) => seller);
    return [...bySeller].map(([seller, won]) => {
      const inOrder = won.toSorted(([one], [other]) => other.expires - one.expires || other.id - one.id);
      return [[seller], sumOf(inOrder.slice(0, soldAuctions).map(([, price]) => price))];
    });
  },
  q7({ bids }) {
    const byWindow = groupBy(bids, ({ bid }) => windowOf(bid.time));
    return [...byWindow].map(([window, those]) => {
      const price = those.reduce((most, { bid }) => Math.max(most, bid.price), 0);
      const numbers = those.filter(({ bid }) => bid.price === price).map(({ number }) => number);
      return [[window], { highest: { price, bids: numbers } }];
    });
  },
  q8({ persons, auctions }) {
    const found = [...auctions.values()].flatMap((auction) => {
      const person = persons.get(auction.seller);
      return person !== undefined && isNewSeller(person, auction) ? [person] : [];
    });
    return [...new Set(found)].map(({ id, name, time }) => [
      [id],
      { user: { name, window: windowOf(time) } },
    ]);
  },
};

/** Each auction that has a bid in time, with its highest price. */
function winningOf({ auctions, bids }: All): ReadonlyMap<Auction, number> {
  const highest = new Map<Auction, number>();
  for (const { bid } of bids) {
    const auction = auctions.get(bid.auction);
    if (auction !== undefined && isInTime(bid, auction))
      highest.set(auction, Math.max(highest.get(auction) ?? 0, bid.price));
  }
  return highest;
}

function groupBy<T>(all: readonly T[], keyOf: (each: T) => number): ReadonlyMap<number, readonly T[]> {
  const groups = new Map<number, T[]>();
  for (const each of all) {
    const group = groups.get(keyOf(each));
    if (group === undefined) groups.set(keyOf(each), [each]);
    else group.push(each);
  }
  return groups;
}

function countOf(all: readonly number[]): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const each of all) counts.set(each, (counts.get(each) ?? 0) + 1);
  return counts;
}

const sumOf = (prices: readonly number[]) => ({
  sum: prices.reduce((sum, price) => sum + price, 0),
  count: prices.length,
});
