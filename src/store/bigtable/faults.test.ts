import { getEventListeners } from "node:events";
import { status } from "@grpc/grpc-js";
import { afterEach, describe, expect, it } from "vitest";
import { column, endAll, openOn, read, text } from "../../../test/support/bigtable/faults.js";
import {
  answers,
  Failure,
  type Handler,
  never,
  TestService,
} from "../../../test/support/bigtable/service.js";
import { NetworkProxy } from "../../../test/support/proxy/index.js";
import { packageManifest, systemEnvironment } from "../../environment/index.js";
import type { MutationAnswer, RowMutation } from "../mutation.js";
import { openBigtableStore } from "./open.js";

afterEach(endAll);

const put = { type: "put", column, part: "write", timestamp: 1, value: Buffer.from("v") } as const;
const absent = { type: "absent", column, part: "lock", from: 0, to: Number.POSITIVE_INFINITY } as const;
const mutation = (row: string, guarded: boolean): RowMutation => ({
  table: "t",
  row: Buffer.from(row),
  guards: guarded ? [absent] : [],
  mutations: [put],
});
const certain = [
  status.INVALID_ARGUMENT,
  status.NOT_FOUND,
  status.ALREADY_EXISTS,
  status.PERMISSION_DENIED,
  status.UNAUTHENTICATED,
  status.FAILED_PRECONDITION,
  status.OUT_OF_RANGE,
  status.UNIMPLEMENTED,
];
const undecided = [
  status.CANCELLED,
  status.UNKNOWN,
  status.DEADLINE_EXCEEDED,
  status.RESOURCE_EXHAUSTED,
  status.ABORTED,
  status.INTERNAL,
  status.UNAVAILABLE,
  status.DATA_LOSS,
];

/** Returns the outcome of any mutation: its answer, or that it was refused. */
function outcome(answer: Promise<MutationAnswer>): Promise<string> {
  return answer.catch((error: unknown) => (error as { code: string }).code);
}

describe("a mutation", () => {
  it.each([
    ...certain.map((code) => [code, "STORE"] as const),
    ...undecided.map((code) => [code, "unknown"] as const),
  ])("that is answered with status %s gives %s, alone and in bulk", async (code, expected) => {
    const fail = () => {
      throw new Failure(code);
    };
    const bulk: Handler = () =>
      answers({
        entries: [
          { index: 0, status: { code: 0 } },
          { index: 1, status: { code, message: "no" } },
        ],
      });
    const { store } = await openOn(
      { CheckAndMutateRow: fail, MutateRow: fail, MutateRows: bulk },
      { gather: true },
    );
    expect(await outcome(store.mutate(mutation("r", true)))).toBe(expected);
    expect(await outcome(store.mutate(mutation("r", false)))).toBe(expected);
    const two = [store.mutate(mutation("a", false)), store.mutate(mutation("b", false))];
    expect(await Promise.all(two.map(outcome))).toEqual(["applied", expected]);
  });

  it("is never sent twice by the store", async () => {
    const fail = () => {
      throw new Failure(status.UNAVAILABLE);
    };
    const { service, store } = await openOn({ CheckAndMutateRow: fail });
    expect(await store.mutate(mutation("r", true))).toBe("unknown");
    expect(service.count("CheckAndMutateRow")).toBe(1);
    expect(store.statistics()).toMatchObject({ conditionalMutations: 1, unknownAnswers: 1 });
  });

  it("waits for a connection, and has no unknown outcome only because there was none", async () => {
    const service = await TestService.start({ CheckAndMutateRow: () => ({}), MutateRow: () => ({}) });
    await using proxy = await NetworkProxy.start(service.host);
    const store = await openBigtableStore("bigtable://p/i", { emulatorHost: proxy.address, gather: false });
    await store.prepare(["t"]);
    proxy.refuse();
    proxy.cut();
    // A read fails at once if there is no connection. The mutations are sent only after the read
    // has failed.
    const { accepted } = proxy;
    const reading = Promise.resolve(store.readRow(read)).catch(() => undefined);
    while ((await store.statistics()).readsRepeated === 0)
      await new Promise((resolve) => setImmediate(resolve));
    const answers = [store.mutate(mutation("r", true)), store.mutate(mutation("r", false))];
    proxy.heal();
    expect(await Promise.all(answers)).toEqual(["applied", "applied"]);
    expect(proxy.accepted).toBeGreaterThan(accepted);
    await store.close();
    await reading;
    service[Symbol.dispose]();
  });

  it("that is not answered in time is unknown", async () => {
    const { store } = await openOn({ CheckAndMutateRow: never, MutateRow: never }, { deadlineMs: 50 });
    expect(await store.mutate(mutation("r", true))).toBe("unknown");
    expect(await store.mutate(mutation("r", false))).toBe("unknown");
  });

  it("is unknown if its signal is aborted after it was sent, and not if before", async () => {
    const controller = new AbortController();
    const abort: Handler = () => {
      controller.abort();
      return never();
    };
    const { service, store } = await openOn({ CheckAndMutateRow: abort });
    expect(await store.mutate(mutation("r", true), { signal: controller.signal })).toBe("unknown");
    const late = store.mutate(mutation("r", true), { signal: controller.signal });
    expect(await outcome(late)).toBe("ABORTED");
    expect(service.count("CheckAndMutateRow")).toBe(1);
  });

  it("in bulk keeps the received answers if the stream breaks", async () => {
    const handler: Handler = async function* () {
      yield { entries: [{ index: 1, status: { code: 0 } }] };
      throw new Failure(status.UNAVAILABLE);
    };
    const { store } = await openOn({ MutateRows: handler }, { gather: true });
    const answered = ["a", "b", "c"].map((row) => store.mutate(mutation(row, false)));
    expect(await Promise.all(answered)).toEqual(["unknown", "applied", "unknown"]);
  });

  it("in bulk is unknown if the stream ends without an answer", async () => {
    const { store } = await openOn({ MutateRows: () => answers() }, { gather: true });
    const answered = ["a", "b"].map((row) => store.mutate(mutation(row, false)));
    expect(await Promise.all(answered)).toEqual(["unknown", "unknown"]);
  });

  it("of one turn is sent together with others, and with others of its row as one", async () => {
    const handler: Handler = ({ entries }) =>
      answers({ entries: (entries as unknown[]).map((_, index) => ({ index, status: {} })) });
    const { service, store } = await openOn({ MutateRows: handler, MutateRow: () => ({}) }, { gather: true });
    const answered = ["a", "b", "a", "c", "a"].map((row) => store.mutate(mutation(row, false)));
    expect(new Set(await Promise.all(answered))).toEqual(new Set(["applied"]));
    const rows = service.calls.flatMap(({ method, request }) =>
      method === "MutateRows"
        ? (request.entries as { rowKey: Uint8Array; mutations: unknown[] }[]).map(
            ({ rowKey, mutations }) => `${text(rowKey)}${mutations.length}`,
          )
        : method === "MutateRow"
          ? [text(request.rowKey as Uint8Array)]
          : [],
    );
    expect(rows).toEqual(["a3", "b1", "c1"]);
  });

  it("of a row that is refused with others is retried once by itself", async () => {
    const handler: Handler = ({ entries }) =>
      answers({
        entries: (entries as { mutations: unknown[] }[]).map(({ mutations }, index) => ({
          index,
          status: { code: mutations.length > 1 ? status.INVALID_ARGUMENT : status.OK },
        })),
      });
    const alone: Handler = (_, { index }) => {
      if (index === 1) throw new Failure(status.INVALID_ARGUMENT);
      return {};
    };
    const { service, store } = await openOn({ MutateRows: handler, MutateRow: alone }, { gather: true });
    const sent = ["a", "b", "a", "a"].map((row) => outcome(store.mutate(mutation(row, false))));
    expect(await Promise.all(sent)).toEqual(["applied", "applied", "STORE", "applied"]);
    expect(service.count("MutateRow")).toBe(3);
  });

  it("that is aborted while it waits behind earlier requests is not sent", async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const sent: string[] = [];
    const bulk: Handler = (request) => {
      controller.abort();
      const entries = request.entries as { rowKey: Uint8Array }[];
      sent.push(...entries.map(({ rowKey }) => text(rowKey)!));
      return answers({ entries: entries.map((_, index) => ({ index, status: {} })) });
    };
    const alone: Handler = ({ rowKey }) => {
      sent.push(text(rowKey as Uint8Array)!);
      return {};
    };
    const { store } = await openOn({ MutateRows: bulk, MutateRow: alone }, { gather: true });
    const rows = Array.from({ length: 1_000 }, (_, index) => `r${index}`);
    const first = rows.map((row) => store.mutate(mutation(row, false)));
    const aborted = outcome(store.mutate(mutation("aborted", false), { signal }));
    const last = store.mutate(mutation("last", false));
    expect(await aborted).toBe("ABORTED");
    expect(new Set(await Promise.all([...first, last]))).toEqual(new Set(["applied"]));
    expect(sent).toEqual([...rows, "last"]);
  });

  it("that waits for the others of its turn until its deadline is unknown, and is not sent", async () => {
    let now = 0;
    const environment = { ...systemEnvironment, monotonic: () => now };
    const bulk: Handler = ({ entries }) => {
      now += 400_000;
      return answers({ entries: (entries as unknown[]).map((_, index) => ({ index, status: {} })) });
    };
    const options = { gather: true, deadlineMs: 1_000_000, environment };
    const { service, store } = await openOn({ MutateRows: bulk }, options);
    // 5 requests.
    const rows = Array.from({ length: 4_010 }, (_, index) => `r${index}`);
    const answered = await Promise.all(rows.map((row) => store.mutate(mutation(row, false))));
    expect(answered.lastIndexOf("applied")).toBe(2_999);
    expect(answered.indexOf("unknown")).toBe(3_000);
    expect(service.count("MutateRows")).toBe(3);
  });

  it("that is refused with others is not sent again after its deadline", async () => {
    let now = 0;
    const environment = { ...systemEnvironment, monotonic: () => now };
    const bulk: Handler = () =>
      answers({ entries: [{ index: 0, status: { code: status.INVALID_ARGUMENT } }] });
    const single: Handler = () => {
      now += 600_000;
      return {};
    };
    const options = { gather: true, deadlineMs: 1_000_000, environment };
    const { service, store } = await openOn({ MutateRows: bulk, MutateRow: single }, options);
    const answered = ["a", "a", "a"].map((row) => store.mutate(mutation(row, false)));
    expect(await Promise.all(answered)).toEqual(["applied", "applied", "unknown"]);
    expect(service.count("MutateRow")).toBe(2);
  });

  it("that is aborted while it is refused with others is not retried", async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const bulk: Handler = () => {
      controller.abort();
      const code = status.INVALID_ARGUMENT;
      return answers({ entries: [0, 1].map((index) => ({ index, status: { code } })) });
    };
    const { service, store } = await openOn({ MutateRows: bulk, MutateRow: () => ({}) }, { gather: true });
    const sent = [store.mutate(mutation("a", false), { signal })];
    sent.push(...["a", "b"].map((row) => store.mutate(mutation(row, false))));
    expect(await Promise.all(sent.map(outcome))).toEqual(["unknown", "applied", "STORE"]);
    expect(service.count("MutateRow")).toBe(1);
  });

  it("that was answered has removed its signal listener", async () => {
    const bulk: Handler = () =>
      answers({
        entries: [
          { index: 0, status: {} },
          { index: 1, status: { code: status.INVALID_ARGUMENT } },
        ],
      });
    const { store } = await openOn({ MutateRows: bulk }, { gather: true });
    const { signal } = new AbortController();
    const sent = ["a", "b"].map((row) => store.mutate(mutation(row, false), { signal }));
    expect(await Promise.all(sent.map(outcome))).toEqual(["applied", "STORE"]);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("on a connection without answers ends with the connection, and the next one has a new connection", async () => {
    let silent = true;
    const handler: Handler = () => (silent ? never() : {});
    const { store } = await openOn({ MutateRow: handler }, { deadlineMs: 60 });
    for (let i = 0; i < 3; i++) expect(await store.mutate(mutation("r", false))).toBe("unknown");
    silent = false;
    let answer = await store.mutate(mutation("r", false));
    for (let i = 0; i < 100 && answer !== "applied"; i++) answer = await store.mutate(mutation("r", false));
    expect(answer).toBe("applied");
  });
});

describe("a request", () => {
  it("carries its table, its app profile and the client's features", async () => {
    const place = "bigtable://proj/inst?prefix=shop&profile=single";
    const { service, store } = await openOn({ MutateRow: () => ({}) }, {}, place);
    await store.mutate(mutation("r", false));
    const call = service.calls.find(({ method }) => method === "MutateRow")!;
    const path = "projects/proj/instances/inst/tables/shop..t";
    expect(call.request).toMatchObject({ tableName: path, appProfileId: "single" });
    expect(call.metadata.get("x-goog-request-params")).toEqual([
      `table_name=${encodeURIComponent(path)}&app_profile_id=single`,
    ]);
    expect(call.metadata.get("google-cloud-resource-prefix")).toEqual(["projects/proj/instances/inst"]);
    expect(call.metadata.get("bigtable-features")[0]).toBe(
      Buffer.from([8, 1, 32, 1, 48, 1, 56, 1]).toString("base64url"),
    );
    const { version } = packageManifest();
    expect(call.metadata.get("user-agent")).toEqual([expect.stringMatching(/^\S+ grpc-node-js\/\S+$/)]);
    expect(call.metadata.get("user-agent")[0]).toContain(`percolatordb/${version} `);
    const names = call.metadata.get("x-goog-api-client")[0]?.toString().split(" ");
    expect(names).toEqual([
      `gl-node/${process.versions.node}`,
      expect.stringMatching(/^grpc\/1\.\d+\.\d+$/),
      `percolatordb/${version}`,
    ]);
    const looked = service.calls.find(({ method }) => method === "GetTable")!;
    for (const name of ["user-agent", "x-goog-api-client", "bigtable-features"])
      expect(looked.metadata.get(name)).toEqual(call.metadata.get(name));
  });
});
