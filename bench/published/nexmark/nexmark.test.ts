import { open } from "percolatordb";
import { describe, expect, test } from "vitest";
import { drawsOf } from "../draws.js";
import {
  type Auction,
  type Bid,
  categories,
  eventsOf,
  firstCategory,
  lastAuction,
  lastPerson,
  type NexmarkEvent,
  type Person,
  timeOf,
} from "./events.js";
import { answerOf, observersOf, queries } from "./queries.js";
import { runQueries } from "./run.js";
import { bids } from "./tables.js";
import { twinOf } from "./twin.js";

const count = 20_000;
const events = [...eventsOf(count, drawsOf(1))];
const persons = events.flatMap((event): Person[] => ("person" in event ? [event.person] : []));
const auctions = events.flatMap((event): Auction[] => ("auction" in event ? [event.auction] : []));
const bidEvents = events.flatMap((event) => ("bid" in event ? [event] : []));
const share = <T>(all: readonly T[], is: (each: T) => boolean) => all.filter(is).length / all.length;

describe("the events", () => {
  test("are 1 person, 3 auctions and 46 bids of each 50", () => {
    expect([persons.length, auctions.length, bidEvents.length]).toEqual([400, 1_200, 18_400]);
    const kinds = events
      .slice(50, 100)
      .map((event) => ("person" in event ? "p" : "auction" in event ? "a" : "b"));
    expect(kinds.join("")).toBe(`paaa${"b".repeat(46)}`);
  });

  test("number people and auctions from 1,000, without gaps", () => {
    expect(persons.map(({ id }) => id)).toEqual(persons.map((_, index) => 1_000 + index));
    expect(auctions.map(({ id }) => id)).toEqual(auctions.map((_, index) => 1_000 + index));
    expect([lastPerson(0), lastPerson(49), lastPerson(50)]).toEqual([0, 0, 1]);
    expect([lastAuction(0), lastAuction(1), lastAuction(3), lastAuction(49), lastAuction(50)]).toEqual([
      -1, 0, 2, 2, 2,
    ]);
  });

  test("come at 10,000 a second of their own time", () => {
    expect(timeOf(10_000)).toBe(1_000);
    expect(bidEvents.every(({ number, bid }) => bid.time === timeOf(number))).toBe(true);
  });

  test("have hot auctions, bidders and sellers", () => {
    const hot = ({ number, bid }: { number: number; bid: Bid }) =>
      bid.auction === 1_000 + Math.trunc(lastAuction(number) / 100) * 100;
    expect(share(bidEvents, hot)).toBeGreaterThan(0.48);
    expect(share(bidEvents, hot)).toBeLessThan(0.54);
    expect(share(bidEvents, ({ bid }) => bid.bidder % 100 === 1)).toBeGreaterThan(0.73);
    expect(share(bidEvents, ({ bid }) => bid.bidder % 100 === 1)).toBeLessThan(0.79);
    expect(share(auctions, ({ seller }) => seller % 100 === 0)).toBeGreaterThan(0.7);
    expect(share(auctions, ({ seller }) => seller % 100 === 0)).toBeLessThan(0.8);
  });

  test("have prices, categories, ends and sizes as Nexmark wants them", () => {
    expect(bidEvents.every(({ bid }) => bid.price >= 100 && bid.price <= 100_000_000)).toBe(true);
    // Prices are spread over six decades, so the middle one is about 100,000 cents.
    const prices = bidEvents.map(({ bid }) => bid.price).toSorted((one, other) => one - other);
    expect(Math.log10(prices[prices.length / 2]!)).toBeCloseTo(5, 0);
    expect(new Set(auctions.map(({ category }) => category)).size).toBe(categories);
    expect(Math.min(...auctions.map(({ category }) => category))).toBe(firstCategory);
    const lengths = auctions.map(({ time, expires }) => expires - time);
    expect(Math.min(...lengths)).toBeGreaterThanOrEqual(1);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(2 * 167);
    const bytes = bidEvents.map(({ bid }) => 32 + bid.extra.length);
    expect(bytes.reduce((sum, each) => sum + each, 0) / bytes.length).toBeCloseTo(100, -1);
  });

  test("are the same for the same seed", () => {
    const some = (seed: number) => JSON.stringify([...eventsOf(500, drawsOf(seed))]);
    expect(some(5)).toBe(some(5));
    expect(some(5)).not.toBe(some(6));
  });
});

describe("the queries", () => {
  /** Some windows of 10 s. Among the auctions is one that Q2 selects. */
  const some: readonly NexmarkEvent[] = [...eventsOf(2_000, drawsOf(2))].map(slowed);

  test.each(queries.map((query) => ({ query })))("$query answers as its batch twin", async ({ query }) => {
    expect(twinOf(query, some).size).toBeGreaterThan(0);
    const { wrong, lines } = await runQueries("memory:", [query], some);
    expect(wrong).toBe(0);
    expect(lines).toBe(twinOf(query, some).size);
  });

  test("all at once answer as their batch twins, whatever the order of the events", async () => {
    const { wrong } = await runQueries("memory:", queries, [...some].reverse());
    expect(wrong).toBe(0);
  });

  test("a lost event makes an answer wrong", async () => {
    await using db = await open("memory:", { observers: [...observersOf.q7] });
    const lost = some.filter((event) => "bid" in event).slice(1);
    await db.transact((tx) => {
      for (const { number, bid } of lost) tx.set(bids.event, [bid.auction, number], bid);
    });
    await db.drain();
    await using snapshot = await db.snapshot();
    const found = await answerOf("q7", snapshot);
    expect(found).toEqual(twinOf("q7", lost));
    const best = lost.toSorted((one, other) => other.bid.price - one.bid.price)[0]!;
    expect(found).not.toEqual(
      twinOf(
        "q7",
        lost.filter((each) => each !== best),
      ),
    );
  });
});

/** Stretches the time of an event, so that few events cover several windows. */
function slowed(event: NexmarkEvent): NexmarkEvent {
  const factor = 120;
  if ("person" in event) return { ...event, person: { ...event.person, time: event.person.time * factor } };
  if ("bid" in event) return { ...event, bid: { ...event.bid, time: event.bid.time * factor } };
  const { time, expires } = event.auction;
  return { ...event, auction: { ...event.auction, time: time * factor, expires: expires * factor } };
}
