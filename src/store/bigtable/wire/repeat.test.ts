import { status } from "@grpc/grpc-js";
import { afterEach, describe, expect, it } from "vitest";
import { column, endAll, openOn, read, text } from "../../../../test/support/bigtable/faults.js";
import {
  answers,
  Failure,
  type Handler,
  never,
  retryAfter,
  rowChunk,
  type TestService,
  type Trailers,
  usableTable,
} from "../../../../test/support/bigtable/service.js";
import { type Environment, systemEnvironment } from "../../../environment/index.js";
import type { RowMutation } from "../../mutation.js";

afterEach(endAll);

/** An environment whose long timers fire at once, or never. `delays` records them. */
function timers(isOver = true) {
  const delays: number[] = [];
  const environment: Environment = Object.create(systemEnvironment, {
    setTimer: {
      value: (run: () => void, delayMs: number) => {
        delays.push(delayMs);
        if (!isOver) return { cancel: () => undefined };
        return systemEnvironment.setTimer(run, 0);
      },
    },
  });
  return { delays, environment };
}

const mutation = (row: string, isGuarded: boolean): RowMutation => ({
  table: "t",
  row: Buffer.from(row),
  guards: isGuarded ? [{ type: "absent", column, part: "lock", from: 0, to: Number.POSITIVE_INFINITY }] : [],
  mutations: [{ type: "put", column, part: "write", timestamp: 1, value: Buffer.from("v") }],
});

const failing =
  (trailers: Trailers, code = status.UNAVAILABLE): Handler =>
  () => {
    throw new Failure(code, "no", trailers);
  };

/** Fails the first call. */
const once =
  (fail: Handler, then: Handler): Handler =>
  (request, call) =>
    (call.index === 0 ? fail : then)(request, call);

const value: Handler = () => answers({ chunks: [rowChunk("r", "v")] });
const range = { table: "t", columns: [{ exact: column }], at: 9 };

describe("a failure with a retry delay (RetryInfo)", () => {
  const fail = failing(retryAfter({ seconds: 7, nanos: 250_000_000 }));

  it("delays each retried request by that time, in addition to the backoff", async () => {
    const { delays, environment } = timers();
    const { service, store } = await openOn(
      {
        GetTable: once(fail, () => usableTable),
        ReadRows: (request, call) => ([0, 2].includes(call.index) ? fail : value)(request, call),
        SampleRowKeys: once(fail, () => answers({ rowKey: Buffer.from("m") })),
      },
      { environment },
    );
    await store.prepare(["t"]);
    expect(text((await store.readRow(read)).cells[0]?.write?.value)).toBe("v");
    expect((await store.readRange(range)).rows.length).toBe(1);
    expect((await store.splitPoints("t", 9)).length).toBe(1);
    const waits = delays.filter((delay) => delay >= 1_000);
    expect(waits.length).toBe(4);
    for (const wait of waits) {
      expect(wait).toBeGreaterThan(7_250);
      expect(wait).toBeLessThanOrEqual(8_250);
    }
    expect([service.count("GetTable"), service.count("ReadRows")]).toEqual([2, 4]);
  });

  it("is retryable, whatever its code", async () => {
    const { environment } = timers();
    const unready = failing(retryAfter({ nanos: 1_000_000 }), status.FAILED_PRECONDITION);
    const { store } = await openOn({ ReadRows: once(unready, value) }, { environment });
    expect((await store.readRow(read)).cells.length).toBe(1);
    const other = await openOn({ ReadRows: unready }, { environment, retryForMs: 1 });
    await expect(other.store.readRow(read)).rejects.toMatchObject({ code: "STORE", retryable: true });
  });

  it("fails at once if the delay is longer than the time for retries", async () => {
    const { delays, environment } = timers();
    const { service, store } = await openOn({ ReadRows: fail }, { environment, retryForMs: 7_000 });
    await expect(store.readRow(read)).rejects.toMatchObject({ code: "STORE", retryable: true });
    expect(service.count("ReadRows")).toBe(1);
    expect(delays.filter((delay) => delay >= 1_000)).toEqual([]);
  });

  it("delays the rest of a page or of a set of rows that was cut off", async () => {
    const { delays, environment } = timers();
    const handler: Handler = async function* (request, call) {
      yield { chunks: [rowChunk("a", "1")] };
      if (call.index % 2 === 0) await fail(request, call);
      yield { chunks: [rowChunk("b", "2")] };
    };
    const { store } = await openOn({ ReadRows: handler }, { environment, gather: true });
    await store.prepare(["t"]);
    expect((await store.readRange(range)).next).toBeDefined();
    await store.readRange(range);
    expect(delays.filter((delay) => delay >= 1_000)).toEqual([7_250]);
    const rows = ["a", "b"].map((row) => store.readRow({ ...read, row: Buffer.from(row) }));
    await Promise.all(rows);
    expect(delays.filter((delay) => delay >= 1_000)).toEqual([7_250, 7_250]);
  });

  it("delays the answer `unknown` of a mutation, which is not sent twice", async () => {
    const { delays, environment } = timers();
    const handlers = { CheckAndMutateRow: fail, MutateRow: fail, MutateRows: fail };
    const { service, store } = await openOn(handlers, { environment, gather: true });
    await store.prepare(["t"]);
    const held = () => delays.splice(0).filter((delay) => delay >= 1_000);
    held();
    expect(await store.mutate(mutation("r", true))).toBe("unknown");
    expect(held()).toEqual([7_250]);
    expect(await store.mutate(mutation("r", false))).toBe("unknown");
    expect(held()).toEqual([7_250]);
    const two = ["a", "b"].map((row) => store.mutate(mutation(row, false)));
    expect(await Promise.all(two)).toEqual(["unknown", "unknown"]);
    expect(held()).toEqual([7_250]);
    const counts = ["CheckAndMutateRow", "MutateRow", "MutateRows"].map((name) => service.count(name));
    expect(counts).toEqual([1, 1, 1]);
  });

  it("delays a mutation no longer than its deadline, its signal and the store allow", async () => {
    const { delays, environment } = timers(false);
    const { store } = await openOn({ CheckAndMutateRow: fail }, { environment, deadlineMs: 5_000 });
    await store.prepare(["t"]);
    const controller = new AbortController();
    const held = async (count: number) => {
      while (delays.length < count) await new Promise((resolve) => setImmediate(resolve));
    };
    const given = store.mutate(mutation("r", true), { signal: controller.signal });
    await held(1);
    expect(delays[0]).toBeGreaterThan(1_000);
    expect(delays[0]).toBeLessThanOrEqual(5_000);
    controller.abort();
    expect(await given).toBe("unknown");
    const last = store.mutate(mutation("r", true));
    await held(2);
    await store.close();
    expect(await last).toBe("unknown");
  });

  it("of a read does not prevent the store from being closed", async () => {
    const { delays, environment } = timers(false);
    const { store } = await openOn({ ReadRows: fail }, { environment });
    await store.prepare(["t"]);
    const reading = Promise.resolve(store.readRow(read));
    const failed = expect(reading).rejects.toMatchObject({ code: "STORE" });
    while (delays.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await store.close();
    await failed;
  });

  it.each<[string, Trailers, number]>([
    ["bytes that are no status", { "grpc-status-details-bin": Buffer.from([255, 255, 255]) }, 0],
    ["no delay", retryAfter({}), 0],
    ["a delay before now", retryAfter({ seconds: -5 }), 0],
  ])("but with %s counts as one without a delay", async (_, trailers, least) => {
    const { delays, environment } = timers();
    const { store } = await openOn({ ReadRows: once(failing(trailers), value) }, { environment });
    expect((await store.readRow(read)).cells.length).toBe(1);
    expect(delays.length).toBe(1);
    expect(delays[0]).toBeGreaterThanOrEqual(least);
    expect(delays[0]).toBeLessThanOrEqual(1_000);
  });
});

describe("routing cookies", () => {
  /** The cookies of each call of a method, in order. */
  const sent = (service: TestService, method: string) =>
    service.calls
      .filter((call) => call.method === method)
      .map(({ metadata }) =>
        Object.fromEntries(Object.entries(metadata.getMap()).filter(([key]) => key.startsWith("x-goog-cbt"))),
      );
  const [a, b] = ["x-goog-cbt-cookie-a", "x-goog-cbt-cookie-b"];

  it("of trailers and headers are returned with each retry of the call, the newest of each name, and with no other call", async () => {
    const { environment } = timers();
    const handler: Handler = (_, call) => {
      if (call.index === 0) {
        call.sendHeaders({ [a]: "early", [b]: "header", "x-other": "no" });
        throw new Failure(status.UNAVAILABLE, "no", { [a]: "1", "x-goog-other": "no" });
      }
      if (call.index === 1) throw new Failure(status.UNAVAILABLE, "no", { [a]: "2" });
      return answers({ chunks: [rowChunk("r", "v")] });
    };
    const { service, store } = await openOn({ ReadRows: handler }, { environment });
    await store.readRow(read);
    await store.readRow(read);
    expect(sent(service, "ReadRows")).toEqual([
      {},
      { [a]: "1", [b]: "header" },
      { [a]: "2", [b]: "header" },
      {},
    ]);
    expect(service.calls.at(-2)!.metadata.get("x-goog-request-params").length).toBe(1);
  });

  it("are returned with retries of table checks and split points, and with the rest of a set of rows", async () => {
    const { environment } = timers();
    const fail = failing({ [a]: "1" });
    const handler: Handler = async function* (request, call) {
      yield { chunks: [rowChunk(call.index === 0 ? "a" : "b", "1")] };
      if (call.index === 0) await fail(request, call);
    };
    const { service, store } = await openOn(
      {
        GetTable: once(fail, () => usableTable),
        SampleRowKeys: once(fail, () => answers({ rowKey: Buffer.from("m") })),
        ReadRows: handler,
      },
      { environment, gather: true },
    );
    await store.prepare(["t"]);
    await store.splitPoints("t", 9);
    await Promise.all(["a", "b"].map((row) => store.readRow({ ...read, row: Buffer.from(row) })));
    for (const method of ["GetTable", "SampleRowKeys", "ReadRows"])
      expect([method, sent(service, method)]).toEqual([method, [{}, { [a]: "1" }]]);
  });

  it("of a mutation are not returned, because it is not sent again", async () => {
    const fail = failing({ [a]: "1" });
    const { service, store } = await openOn({ CheckAndMutateRow: fail });
    expect(await store.mutate(mutation("r", true))).toBe("unknown");
    expect(await store.mutate(mutation("r", true))).toBe("unknown");
    expect(sent(service, "CheckAndMutateRow")).toEqual([{}, {}]);
  });
});

it("a location's deadline applies to each request", async () => {
  const { store } = await openOn({ CheckAndMutateRow: never }, {}, "bigtable://p/i?deadlineMs=50");
  expect(await store.mutate(mutation("r", true))).toBe("unknown");
});
