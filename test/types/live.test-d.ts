import { type Database, feed, int, table, text, tuple } from "percolatordb";
import { type FeedDatabase, liveQuery, liveResponse } from "percolatordb/live";
import { type ChangeOf, live, type ReceivedChange, feed as subscribe } from "percolatordb/live/client";
import { useLive } from "percolatordb/live/react";
import { expectTypeOf, test } from "vitest";

const orders = table("orders", { total: int(), state: text() });
const lines = table("lines", { amount: int() }, { key: tuple(text(), int()) });
const orderFeed = feed("orders", [orders.total, lines.amount]);
const topOrders = liveQuery(async (snapshot) => {
  const total = await snapshot.get(orders.total, "a");
  return { total, names: ["a"] };
});
const ofUser = (user: string) => liveQuery((snapshot) => snapshot.get(orders.state, user));

test("one route serves several queries", () => {
  const queries = { topOrders, ofAnna: ofUser("anna") };
  const serve = (db: Database, name: keyof typeof queries, request: Request) =>
    liveResponse(db, queries[name], request);
  expectTypeOf(serve).returns.resolves.toEqualTypeOf<Response>();
});

test("a client's values have the types of the server's query", async () => {
  interface Top {
    total: number | undefined;
    names: string[];
  }
  for await (const { value, timestamp } of live<typeof topOrders>("/")) {
    expectTypeOf(value).toEqualTypeOf<Top>();
    expectTypeOf(timestamp).toEqualTypeOf<number>();
  }
  live<typeof topOrders>("/", { onValue: ({ value }) => expectTypeOf(value).toEqualTypeOf<Top>() });
  live<ReturnType<typeof ofUser>>("/", {
    onValue: ({ value }) => expectTypeOf(value).toEqualTypeOf<string | undefined>(),
  });
  live<number>("/", { onValue: ({ value }) => expectTypeOf(value).toEqualTypeOf<number>() });
  expectTypeOf(useLive<typeof topOrders>("/").value).toEqualTypeOf<Top | undefined>();
});

test("a client's changes have the types of the server's feed", () => {
  type Change = ReceivedChange<string, number> | ReceivedChange<readonly [string, number], number>;
  expectTypeOf<ChangeOf<typeof orderFeed>["value"]>().toEqualTypeOf<Change["value"]>();
  subscribe<typeof orderFeed>("/", {
    onEvent: (event) => {
      if (event.type !== "changes") return;
      expectTypeOf(event.changes[0]!.row).toEqualTypeOf<string | readonly [string, number]>();
    },
  });
  subscribe("/", {
    onEvent: (event) => {
      if (event.type === "cells") expectTypeOf(event.changes).toEqualTypeOf<readonly ReceivedChange[]>();
    },
  });
});

test("a Database is what a feed's response needs", () => {
  expectTypeOf<Database>().toExtend<FeedDatabase>();
});
