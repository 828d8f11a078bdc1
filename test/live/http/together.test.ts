import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer, type Socket } from "node:net";
import fc from "fast-check";
import { feed, int, open, table, text } from "percolatordb";
import { feedResponse, liveQuery, liveResponse, toNode } from "percolatordb/live";
import {
  type LiveClientEnvironment,
  type LiveError,
  live,
  feed as subscribe,
} from "percolatordb/live/client";
import { describe, expect, test } from "vitest";
import { until } from "../../support/waiting.js";
import { serve } from "./support/servers.js";

/** Tests the client against a server, over real connections. */

const orders = table("orders", { total: int(), note: text() });
const orderFeed = feed("order-feed", [orders.total, orders.note]);
const sum = liveQuery(async (snapshot) => {
  let total = 0n;
  for await (const { value } of snapshot.scan(orders.total)) total += BigInt(value);
  return total;
});

/** Connects again at once. */
const eager: LiveClientEnvironment = {
  random: () => 0,
  setTimer: (run, ms) => {
    const timer = setTimeout(run, ms);
    return { cancel: () => clearTimeout(timer) };
  },
};

describe("the client with a server", () => {
  test("sees each result through restarts of the server, and none twice", async () => {
    await using db = await open("memory:", { feeds: [orderFeed] });
    const answer = toNode((request) => liveResponse(db, sum, request, { gzip: true }));
    let server = await serve(answer);
    const seen: bigint[] = [];
    const states: string[] = [];
    const subscription = live<typeof sum>(server.url, {
      environment: eager,
      onValue: ({ value }) => seen.push(value),
      onState: (state) => states.push(state),
    });
    expect(await until(() => seen.length === 1)).toBe(true);
    for (let round = 1; round <= 3; round++) {
      await server.close();
      expect(await until(() => states.at(-1) === "waiting" || states.at(-1) === "connecting")).toBe(true);
      server = await serve(answer, server.port);
      expect(await until(() => states.at(-1) === "open")).toBe(true);
      await db.transact((tx) => tx.set(orders.total, `o${round}`, 1));
      expect(await until(() => seen.at(-1) === BigInt(round))).toBe(true);
    }
    expect(seen).toEqual([0n, 1n, 2n, 3n]);
    subscription.close();
    expect(await until(() => subscription.state === "closed")).toBe(true);
    await server.close();
  });

  test("a feed is complete, whatever breaks its connections", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 3_000 }), { minLength: 1, maxLength: 6 }),
        fc.boolean(),
        async (cuts, snapshot) => {
          await using db = await open("memory:", { feeds: [orderFeed] });
          await db.transact((tx) => tx.set(orders.total, "before", 1));
          await using server = await serve(
            toNode((request) => feedResponse(db, orderFeed, request, { snapshot })),
          );
          await using proxy = await cuttingProxy(server.port, cuts);
          const state = new Map<string, unknown>();
          const transactions: number[] = [];
          const errors: LiveError[] = [];
          let isReady = false;
          const subscription = subscribe<typeof orderFeed>(proxy.url, {
            environment: eager,
            onError: (error) => errors.push(error),
            onEvent: (event) => {
              if (event.type === "reset") state.clear();
              if (event.type === "ready") isReady = true;
              if (event.type === "changes") transactions.push(event.timestamp);
              if (event.type === "changes" || event.type === "cells") {
                for (const { row, column, value } of event.changes) state.set(`${row}/${column}`, value);
              }
            },
          });
          expect(await until(() => isReady)).toBe(true);
          const written: number[] = [];
          for (let index = 0; index < 20; index++) {
            await db.transact((tx) => {
              tx.set(orders.total, `o${index % 7}`, index);
              tx.set(orders.note, `o${index % 5}`, "x".repeat(index * 10));
            });
            written.push((await db.history(orders.total, `o${index % 7}`))[0]!.commitTimestamp);
          }
          expect(await until(() => transactions.at(-1) === written.at(-1))).toBe(true);
          expect(transactions).toEqual(written);
          if (snapshot) expect(state.get("before/total")).toBe(1);
          expect(state.get("o5/total")).toBe(19);
          expect(errors.filter(({ isFinal }) => isFinal)).toEqual([]);
          subscription.close();
        },
      ),
      { numRuns: 15 },
    );
  });
});

/** A proxy that breaks the first connections off after some bytes of the response. */
async function cuttingProxy(port: number, cuts: readonly number[]) {
  const sockets = new Set<Socket>();
  let accepted = 0;
  const proxy = createServer((client) => {
    const server = connect(port, "127.0.0.1");
    let left = cuts[accepted++] ?? Number.POSITIVE_INFINITY;
    for (const each of [client, server]) {
      sockets.add(each);
      each.on("error", () => undefined);
      each.on("close", () => {
        sockets.delete(each);
        client.destroy();
        server.destroy();
      });
    }
    client.pipe(server);
    server.on("data", (bytes) => {
      const part = bytes.subarray(0, left);
      left -= part.length;
      if (left > 0) client.write(part);
      // What was written before the end must arrive, so that the client is cut in the middle of it.
      else client.end(part);
    });
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/`,
    [Symbol.asyncDispose]: async () => {
      const closed = once(proxy, "close");
      proxy.close();
      for (const each of sockets) each.destroy();
      await closed;
    },
  };
}
