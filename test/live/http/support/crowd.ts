import { readdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { liveResponse, toNode } from "percolatordb/live";
import { type LiveSubscription, type LiveValue, live } from "percolatordb/live/client";
import { SeededRandom, TestClock } from "percolatordb/testing";
import { expect } from "vitest";
import { collectGarbage } from "../../../support/garbage.js";
import { pause, until } from "../../../support/waiting.js";
import { FakeLive } from "./fake-live.js";
import { serve } from "./servers.js";

/** How many clients a crowd has of each kind. */
export interface CrowdSize {
  /** Clients that take every value. */
  readonly healthy: number;
  /** Clients that take nothing. */
  readonly slow: number;
  /** Clients whose connection breaks at any moment. */
  readonly dying: number;
}

const slowMs = 30_000;
/** Large, so that the buffers between a server and a slow client are full soon. */
const large = "x".repeat(200_000);

/** Descriptors that this process has open. */
const descriptors = () => readdirSync("/proc/self/fd").length;

/**
 * Serves a crowd, and checks that healthy clients get the newest value whatever the others do, that
 * slow ones are ended, and that nothing is left of those that are gone.
 */
export async function serveCrowd({ healthy, slow, dying }: CrowdSize, seed: string): Promise<void> {
  const random = new SeededRandom(seed);
  const clock = new TestClock();
  const environment = clock.process();
  const small = new FakeLive();
  const big = new FakeLive();
  let round = 0;
  const bodies: WeakRef<object>[] = [];
  const before = descriptors();
  const server = await serve(
    toNode(async (request) => {
      const isBig = new URL(request.url).pathname === "/big";
      const response = isBig
        ? await liveResponse(big, () => `${large}${round}`, request, { environment, slowMs })
        : await liveResponse(small, () => round, request, { environment, slowMs: 1e9, gzip: true });
      bodies.push(new WeakRef(response.body!));
      return response;
    }),
  );
  const newest: number[] = [];
  const errors: unknown[] = [];
  const subscriptions: LiveSubscription<LiveValue<number>>[] = [];
  for (let index = 0; index < healthy; index++) {
    const onValue = ({ value }: LiveValue<number>) => {
      newest[index] = value;
    };
    subscriptions.push(live<number>(server.url, { onValue, onError: (error) => errors.push(error) }));
  }
  const ask = (path: string): Socket => {
    const socket = connect(server.port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\naccept-encoding: gzip\r\n\r\n`);
    return socket;
  };
  const stuck = Array.from({ length: slow }, () => ask("/big").pause());
  const mortals = Array.from({ length: dying }, () => ask("/").resume());
  const isServed = () => newest.length === healthy && newest.every((value) => value === round);
  expect(await until(isServed)).toBe(true);
  expect(await until(() => small.open === healthy + dying && big.open === slow)).toBe(true);
  // If more clients connect at once than the system lets wait, some must connect again.
  errors.length = 0;
  let runs = -1;
  // Ends when the slow clients have taken what fits between them and the server, and all others died.
  for (round = 1; mortals.length > 0 || runs !== big.runs; round++) {
    runs = big.runs;
    const deaths = Math.min(mortals.length, 1 + Math.floor(dying / 10));
    for (const socket of mortals.splice(0, deaths)) {
      if (random.next() < 0.5) socket.destroy();
      else socket.resetAndDestroy();
    }
    small.change();
    big.change();
    // A new client may come and go at any moment, even before the server has its request.
    const visitor = ask(random.next() < 0.5 ? "/" : "/big");
    await pause(5);
    visitor.destroy();
    expect(await until(isServed)).toBe(true);
    await pause(20);
  }
  round--;
  expect(await until(() => small.open === healthy && big.open === slow)).toBe(true);
  await clock.advance(slowMs);
  expect(await until(() => big.open === 0)).toBe(true);
  round++;
  small.change();
  expect(await until(isServed)).toBe(true);
  expect([small.open, errors]).toEqual([healthy, []]);
  for (const socket of stuck) socket.destroy();
  for (const subscription of subscriptions) subscription.close();
  expect(await until(() => small.open === 0)).toBe(true);
  // Releases what still waits for a change.
  small.change();
  await server.close();
  expect(await until(() => descriptors() <= before)).toBe(true);
  const isForgotten = () => {
    collectGarbage();
    return bodies.every((body) => body.deref() === undefined);
  };
  expect(bodies.length).toBeGreaterThan(healthy + slow + dying);
  expect(await until(isForgotten)).toBe(true);
}
