import { int, json, signal, table, tuple } from "percolatordb";
import type { Auction, Bid, Person } from "./events.js";

/** Nexmark's three streams, an event in a cell, and the tables of the queries' answers. */

export const persons = table("persons", { event: json<Person>() }, { key: tuple(int()) });
export const auctions = table("auctions", { event: json<Auction>() }, { key: tuple(int()) });
/** The auctions again, by seller and id. An event writes both in one transaction. */
export const sellers = table("sellers", { auction: json<Auction>() }, { key: tuple(int(), int()) });
/** By auction, and the event's number. */
export const bids = table("bids", { event: json<Bid>() }, { key: tuple(int(), int()) });

/** The highest bid of an auction, of those that came while it was open. */
export const winning = table("winning", { price: int() }, { key: tuple(int()) });

/** Query 1, by auction and the event's number: the price in thousandths of a euro cent. */
export const q1 = table("q1", { price: int() }, { key: tuple(int(), int()) });
/** Query 2, by auction and the event's number. */
export const q2 = table("q2", { price: int() }, { key: tuple(int(), int()) });

export type LocalSeller = { readonly name: string; readonly city: string; readonly state: string };
/** Query 3, by auction. */
export const q3 = table("q3", { seller: json<LocalSeller>() }, { key: tuple(int()) });

/**
 * Query 4, by category and part. Each auction belongs to one part, so that auctions of a category
 * do not all change one cell. The average is that of all parts.
 */
export const q4 = table("q4", { sum: int(), count: int() }, { key: tuple(int(), int()) });

/** Bids of an auction in a pane of 2 s, by pane, auction and part. */
export const counts = table("counts", { bids: int() }, { key: tuple(int(), int(), int()) });
/** Says that the counts of a pane have changed. */
export const panes = table("panes", { changed: signal() }, { key: tuple(int()) });
export type HotItems = { readonly auctions: readonly number[]; readonly bids: number };
/** Query 5, by the last pane of a window. */
export const q5 = table("q5", { hot: json<HotItems>() }, { key: tuple(int()) });

/** The winning prices of a seller's auctions, by seller, end of the auction, and auction. */
export const sold = table("sold", { price: int() }, { key: tuple(int(), int(), int()) });
/** Says that a seller's prices have changed. */
export const soldBy = table("soldBy", { changed: signal() }, { key: tuple(int()) });
/** Query 6, by seller: the prices of the last ten auctions that were sold. */
export const q6 = table("q6", { sum: int(), count: int() }, { key: tuple(int()) });

export type Highest = { readonly price: number; readonly bids: readonly number[] };
/** Query 7, by window of 10 s: the highest price, and the numbers of the bids with it. */
export const q7 = table("q7", { highest: json<Highest>() }, { key: tuple(int()) });

export type NewUser = { readonly name: string; readonly window: number };
/** Query 8, by person. */
export const q8 = table("q8", { user: json<NewUser>() }, { key: tuple(int()) });
