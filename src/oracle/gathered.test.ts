import { describe, expect, test } from "vitest";
import { TestMachine, TestWorld } from "../../test/support/oracle/world.js";
import { InternalError, InvalidArgumentError, OracleUnavailableError } from "../errors/index.js";
import { type GatheredOracleOptions, gatheredOracle } from "./gathered.js";
import { lastTimestamp, type TimestampRange } from "./range.js";
import { within } from "./within.js";

interface Sent {
  readonly count: number;
  readonly signal: AbortSignal;
  readonly answer: (range: TimestampRange) => void;
  readonly fail: (error: unknown) => void;
}

/** An oracle whose requests the test answers. */
function byHand(options: Partial<GatheredOracleOptions> = {}, timeoutMs = 60_000) {
  const world = new TestWorld();
  const machine = new TestMachine(world);
  const sent: Sent[] = [];
  const oracle = gatheredOracle({
    environment: machine,
    request: (count, outer) =>
      within({ environment: machine, timeoutMs, signal: outer, doing: "Asking" }, (signal) => {
        return new Promise((answer, fail) => {
          sent.push({ count, signal, answer, fail });
        });
      }),
    ...options,
  });
  return { world, sent, oracle };
}

const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

const busy = () => new OracleUnavailableError("busy");

describe("batching", () => {
  test("an answer serves only the callers that asked before its request was sent, in order", async () => {
    const { world, sent, oracle } = byHand();
    const first = oracle.next();
    const later = [oracle.next(), oracle.next(), oracle.next()];
    await world.settle();
    expect(sent.map(({ count }) => count)).toEqual([1]);
    // An answer with too many timestamps is a defect. The client does not keep the surplus for
    // later callers.
    sent[0]!.answer({ first: 100, count: 1 });
    expect(await first).toBe(100);
    await world.settle();
    expect(sent.map(({ count }) => count)).toEqual([1, 3]);
    const last = oracle.next();
    await world.settle();
    expect(sent).toHaveLength(2);
    sent[1]!.answer({ first: 200, count: 3 });
    expect(await Promise.all(later)).toEqual([200, 201, 202]);
    await world.settle();
    expect(sent.map(({ count }) => count)).toEqual([1, 3, 1]);
    sent[2]!.answer({ first: 300, count: 1 });
    expect(await last).toBe(300);
    await world.settle();
    expect(sent).toHaveLength(3);
    expect(oracle.requests).toBe(3);
  });

  test("callers that ask again as soon as they are answered share a request", async () => {
    const { world, sent, oracle } = byHand();
    const rounds = async () => [await oracle.next(), await oracle.next(), await oracle.next()];
    const callers = [rounds(), rounds(), rounds()];
    const counts: number[] = [];
    for (let round = 0; round < 4; round++) {
      await world.settle();
      const { count } = sent[round]!;
      counts.push(count);
      sent[round]!.answer({ first: 100 * (round + 1), count });
    }
    expect(counts).toEqual([1, 3, 3, 2]);
    // Callers that waited before are served before callers that ask again.
    expect(await Promise.all(callers)).toEqual([
      [100, 202, 302],
      [200, 300, 400],
      [201, 301, 401],
    ]);
  });

  test("a request asks for no more than the maximum, and further requests follow", async () => {
    const { world, sent, oracle } = byHand({ maxAtOnce: 2 });
    const asked = [1, 2, 3, 4, 5, 6].map(() => oracle.next());
    for (let round = 0; round < 4; round++) {
      await world.settle();
      sent[round]!.answer({ first: 100 * (round + 1), count: sent[round]!.count });
    }
    expect(await Promise.all(asked)).toEqual([100, 200, 201, 300, 301, 400]);
  });

  test("a caller that aborts in the queue leaves it; one that aborts later no longer waits, and its timestamp stays unused", async () => {
    const { world, sent, oracle } = byHand();
    const [inFlight, queued] = [new AbortController(), new AbortController()];
    const first = failureOf(oracle.next({ signal: inFlight.signal }));
    const second = failureOf(oracle.next({ signal: queued.signal }));
    const third = oracle.next();
    queued.abort("enough");
    expect(await second).toMatchObject({ code: "ABORTED", cause: "enough" });
    inFlight.abort();
    expect(await first).toMatchObject({ code: "ABORTED" });
    // No caller waits for the first answer any more.
    expect(sent[0]!.signal.aborted).toBe(true);
    await world.settle();
    expect(sent.map(({ count }) => count)).toEqual([1, 1]);
    sent[0]!.answer({ first: 1, count: 1 });
    sent[1]!.answer({ first: 50, count: 1 });
    expect(await third).toBe(50);
    await world.settle();
    const [a, b] = [new AbortController(), oracle.next()];
    const c = failureOf(oracle.next({ signal: a.signal }));
    const d = oracle.next();
    await world.settle();
    sent[2]!.answer({ first: 60, count: 1 });
    expect(await b).toBe(60);
    await world.settle();
    a.abort();
    expect(await c).toMatchObject({ code: "ABORTED" });
    expect(sent[3]!.signal.aborted).toBe(false);
    sent[3]!.answer({ first: 70, count: 2 });
    expect(await d).toBe(71);
    expect(await failureOf(oracle.next({ signal: AbortSignal.abort() }))).toMatchObject({ code: "ABORTED" });
  });

  test("a retryable failure is retried, together with new callers; an answer that comes too late is dropped", async () => {
    const { world, sent, oracle } = byHand({}, 1_000);
    const first = oracle.next();
    sent[0]!.fail(busy());
    await world.settle();
    const second = oracle.next();
    await world.settle();
    expect(sent).toHaveLength(1);
    await world.advance(10);
    expect(sent.map(({ count }) => count)).toEqual([1, 2]);
    await world.advance(1_000);
    expect(sent[1]!.signal.aborted).toBe(true);
    await world.advance(1_000);
    expect(sent.map(({ count }) => count)).toEqual([1, 2, 2]);
    sent[1]!.answer({ first: 10, count: 2 });
    await world.settle();
    sent[2]!.answer({ first: 20, count: 2 });
    expect(await Promise.all([first, second])).toEqual([20, 21]);
  });

  test("retries end, and other failures reach the callers of the request", async () => {
    const { world, sent, oracle } = byHand({ retryForMs: 500 });
    let isOver = false;
    const first = failureOf(oracle.next()).finally(() => {
      isOver = true;
    });
    while (!isOver) {
      sent.at(-1)!.fail(busy());
      await world.advance(50);
      if (world.passedMs > 3_000) throw new Error("It never ends.");
    }
    expect(await first).toMatchObject({ code: "ORACLE_UNAVAILABLE" });
    expect(world.passedMs).toBeLessThan(1_500);

    const before = sent.length;
    const second = failureOf(oracle.next());
    const third = oracle.next();
    await world.advance(2_000);
    sent[before]!.fail(new InvalidArgumentError("no"));
    expect(await second).toMatchObject({ code: "INVALID_ARGUMENT" });
    await world.settle();
    sent[before + 1]!.answer({ first: 5, count: 1 });
    expect(await third).toBe(5);
  });

  test.each([
    { first: 100, count: 1 },
    { first: 99, count: 1 },
    { first: 101, count: 2 },
    { first: 101.5, count: 1 },
    { first: Number.MAX_SAFE_INTEGER, count: 1 },
    { first: Number.NaN, count: 1 },
  ])("an impossible answer reaches no caller: %o after 100", async (answer) => {
    const { world, sent, oracle } = byHand();
    const first = oracle.next();
    sent[0]!.answer({ first: 100, count: 1 });
    await first;
    const second = failureOf(oracle.next());
    await world.settle();
    sent[1]!.answer(answer);
    expect(await second).toBeInstanceOf(InternalError);
  });

  test("the last possible timestamp reaches its caller", async () => {
    const { sent, oracle } = byHand();
    const last = oracle.next();
    sent[0]!.answer({ first: lastTimestamp, count: 1 });
    expect(await last).toBe(lastTimestamp);
  });

  test("waiting callers are limited, and rejected when it is closed", async () => {
    const { sent, oracle } = byHand({ maxWaiting: 2 });
    const waiting = [failureOf(oracle.next()), failureOf(oracle.next())];
    expect(await failureOf(oracle.next())).toMatchObject({ code: "LIMIT_EXCEEDED" });
    oracle.close();
    oracle.close();
    for (const failure of await Promise.all(waiting)) expect(failure).toMatchObject({ code: "CLOSED" });
    expect(sent[0]!.signal.aborted).toBe(true);
    expect(await failureOf(oracle.next())).toMatchObject({ code: "CLOSED" });
  });
});

describe("the latest timestamp", () => {
  test("is the greatest seen, or a new one if none was seen", async () => {
    const { world, sent, oracle } = byHand();
    const first = oracle.latest();
    sent[0]!.answer({ first: 120, count: 1 });
    expect(await first).toBe(120);
    expect(oracle.latest()).toBe(120);
    const second = oracle.next();
    await world.settle();
    sent[1]!.answer({ first: 160, count: 1 });
    await second;
    expect(oracle.latest()).toBe(160);
    expect(sent).toHaveLength(2);
  });

  test("is refused after the client is closed, which it reports once", async () => {
    let closed = 0;
    const { oracle } = byHand({ onClose: () => closed++ });
    const asked = failureOf(Promise.resolve(oracle.latest()));
    oracle.close();
    oracle.close();
    expect(await asked).toMatchObject({ code: "CLOSED" });
    expect(closed).toBe(1);
  });
});
