import { status } from "@grpc/grpc-js";
import { afterEach, describe, expect, it } from "vitest";
import type { MutationAnswer, RowMutation } from "../mutation.js";
import type { RowStore } from "../row-store.js";
import { type BigtableStoreOptions, openBigtableStore } from "./open.js";
import {
  answers,
  Failure,
  type Handler,
  never,
  type Plain,
  rowChunk,
  TestService,
  usableTable,
} from "./test-service.js";

const ended: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const end of ended.splice(0)) await end();
});

async function open(
  handlers: Record<string, Handler>,
  options: BigtableStoreOptions = {},
): Promise<{ service: TestService; store: RowStore }> {
  const service = await TestService.start(handlers);
  const store = await openBigtableStore("bigtable://p/i", {
    emulatorHost: service.host,
    gather: false,
    ...options,
  });
  ended.push(async () => {
    service[Symbol.dispose]();
    await store.close();
  });
  return { service, store };
}

const column = Buffer.from("c");
const put = { type: "put", column, part: "write", timestamp: 1, value: Buffer.from("v") } as const;
const absent = { type: "absent", column, part: "lock", from: 0, to: Number.POSITIVE_INFINITY } as const;
const mutation = (row: string, guarded: boolean): RowMutation => ({
  table: "t",
  row: Buffer.from(row),
  guards: guarded ? [absent] : [],
  mutations: [put],
});
const read = { table: "t", row: Buffer.from("r"), columns: [{ exact: column }], at: 9 };

const text = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString("latin1");

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

/** What a mutation came to, of whatever kind: its answer, or that it was refused. */
function outcome(answer: Promise<MutationAnswer>): Promise<string> {
  return answer.catch((error: unknown) => (error as { code: string }).code);
}

describe("a mutation", () => {
  it.each([
    ...certain.map((code) => [code, "STORE"] as const),
    ...undecided.map((code) => [code, "unknown"] as const),
  ])("that is answered with status %s comes to %s, alone and in bulk", async (code, expected) => {
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
    const { store } = await open(
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
    const { service, store } = await open({ CheckAndMutateRow: fail });
    expect(await store.mutate(mutation("r", true))).toBe("unknown");
    expect(service.count("CheckAndMutateRow")).toBe(1);
    expect(store.statistics()).toMatchObject({ conditionalMutations: 1, unknownAnswers: 1 });
  });

  it("that is not answered in time is unknown", async () => {
    const { store } = await open({ CheckAndMutateRow: never, MutateRow: never }, { deadlineMs: 50 });
    expect(await store.mutate(mutation("r", true))).toBe("unknown");
    expect(await store.mutate(mutation("r", false))).toBe("unknown");
  });

  it("whose signal is aborted when it was sent is unknown, and before was not sent", async () => {
    const controller = new AbortController();
    const abort: Handler = () => {
      controller.abort();
      return never();
    };
    const { service, store } = await open({ CheckAndMutateRow: abort });
    expect(await store.mutate(mutation("r", true), { signal: controller.signal })).toBe("unknown");
    const late = store.mutate(mutation("r", true), { signal: controller.signal });
    expect(await outcome(late)).toBe("ABORTED");
    expect(service.count("CheckAndMutateRow")).toBe(1);
  });

  it("in bulk keeps the answers that came, when the stream breaks", async () => {
    const handler: Handler = async function* () {
      yield { entries: [{ index: 1, status: { code: 0 } }] };
      throw new Failure(status.UNAVAILABLE);
    };
    const { store } = await open({ MutateRows: handler }, { gather: true });
    const answered = ["a", "b", "c"].map((row) => store.mutate(mutation(row, false)));
    expect(await Promise.all(answered)).toEqual(["unknown", "applied", "unknown"]);
  });

  it("in bulk is unknown where the stream ends without an answer", async () => {
    const { store } = await open({ MutateRows: () => answers() }, { gather: true });
    const answered = ["a", "b"].map((row) => store.mutate(mutation(row, false)));
    expect(await Promise.all(answered)).toEqual(["unknown", "unknown"]);
  });

  it("of one turn go together, several of a row as one", async () => {
    const handler: Handler = ({ entries }) =>
      answers({ entries: (entries as unknown[]).map((_, index) => ({ index, status: {} })) });
    const { service, store } = await open({ MutateRows: handler, MutateRow: () => ({}) }, { gather: true });
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

  it("of a row that is refused with others goes once more by itself", async () => {
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
    const { service, store } = await open({ MutateRows: handler, MutateRow: alone }, { gather: true });
    const sent = ["a", "b", "a", "a"].map((row) => outcome(store.mutate(mutation(row, false))));
    expect(await Promise.all(sent)).toEqual(["applied", "applied", "STORE", "applied"]);
    expect(service.count("MutateRow")).toBe(3);
  });

  it("on a connection that answers nothing ends with the connection, and the next has a new one", async () => {
    let silent = true;
    const handler: Handler = () => (silent ? never() : {});
    const { store } = await open({ MutateRow: handler }, { deadlineMs: 60 });
    for (let i = 0; i < 3; i++) expect(await store.mutate(mutation("r", false))).toBe("unknown");
    silent = false;
    let answer = await store.mutate(mutation("r", false));
    for (let i = 0; i < 100 && answer !== "applied"; i++) answer = await store.mutate(mutation("r", false));
    expect(answer).toBe("applied");
  });
});

describe("a read", () => {
  it.each([false, true])("that is not answered in time is asked again (gathered: %s)", async (gather) => {
    const handler: Handler = async function* (_, { index }) {
      if (index === 0) await never();
      yield { chunks: [rowChunk("r", "v")] };
    };
    const { service, store } = await open(
      { ReadRows: handler },
      { gather, deadlineMs: 100, retryForMs: 60_000 },
    );
    expect(text((await store.readRow(read)).cells[0]?.write?.value)).toBe("v");
    const page = await store.readRange({ table: "t", columns: [{ exact: column }], at: 9 });
    expect(page.rows.length).toBe(1);
    expect(service.count("ReadRows")).toBeGreaterThanOrEqual(3);
    expect(store.statistics()).toMatchObject({ readsRepeated: service.count("ReadRows") - 2 });
  });

  it("gets more time each time that it was not answered in time, and fails in the end", async () => {
    const handler: Handler = async function* () {
      await never();
      yield {};
    };
    const { service, store } = await open({ ReadRows: handler }, { deadlineMs: 100, retryForMs: 600 });
    const range = { table: "t", columns: [{ exact: column }], at: 9 };
    await expect(store.readRange(range)).rejects.toThrow("No answer came in time");
    // As long each time there would be six.
    expect(service.count("ReadRows")).toBeGreaterThan(1);
    expect(service.count("ReadRows")).toBeLessThan(5);
  });

  it("is begun anew after what passes, within a bound", async () => {
    const passing = [status.UNAVAILABLE, status.ABORTED, status.INTERNAL];
    const handler: Handler = (_, { index }) => {
      const code = passing[index];
      if (code !== undefined) throw new Failure(code);
      return answers({ chunks: [rowChunk("r", "v")] });
    };
    const { service, store } = await open({ ReadRows: handler });
    const page = await store.readRow(read);
    expect(text(page.cells[0]?.write?.value)).toBe("v");
    expect(service.count("ReadRows")).toBe(4);
  });

  it.each([status.PERMISSION_DENIED, status.INVALID_ARGUMENT, status.NOT_FOUND, status.FAILED_PRECONDITION])(
    "fails at once after status %s",
    async (code) => {
      const fail = () => {
        throw new Failure(code);
      };
      const { service, store } = await open({ ReadRows: fail });
      await expect(store.readRow(read)).rejects.toMatchObject({ code: "STORE" });
      expect(service.count("ReadRows")).toBe(1);
    },
  );

  it("fails in the end where nothing passes, and says what to do", async () => {
    const fail = () => {
      throw new Failure(status.UNAVAILABLE);
    };
    const { service, store } = await open({ ReadRows: fail }, { retryForMs: 1_500 });
    await expect(store.readRow(read)).rejects.toThrow("look at the network");
    expect(service.count("ReadRows")).toBeGreaterThan(1);
  });

  it("is not repeated when the store is closed", async () => {
    const closed = new AbortController();
    const fail = () => {
      closed.abort();
      throw new Failure(status.UNAVAILABLE);
    };
    const { store } = await open({ ReadRows: fail }, { retryForMs: 3_600_000 });
    const closing = new Promise((resolve) => closed.signal.addEventListener("abort", resolve)).then(() =>
      store.close(),
    );
    await expect(store.readRow(read)).rejects.toThrow("look at the network");
    await closing;
  });

  it("that is not answered in time fails, also when the stream falls silent midway", async () => {
    const handler: Handler = async function* (_, { index }) {
      if (index > 0) yield { chunks: [rowChunk("r", "v", { commitRow: undefined, valueSize: 9 })] };
      await never();
    };
    const { store } = await open({ ReadRows: handler }, { deadlineMs: 60 });
    await expect(store.readRow(read)).rejects.toThrow("No answer came in time");
    await expect(store.readRow(read)).rejects.toThrow("No answer came in time");
  });

  it("of a range that breaks off is a shorter page", async () => {
    const handler: Handler = async function* (request, { index }) {
      if (index === 0) {
        yield {
          chunks: [rowChunk("a", "1"), rowChunk("b", "2"), rowChunk("c", "3", { commitRow: undefined })],
        };
        throw new Failure(status.UNAVAILABLE);
      }
      const [range] = (request.rows as { rowRanges: { startKeyClosed: Uint8Array }[] }).rowRanges;
      expect(text(range!.startKeyClosed)).toBe("b\0");
      yield { chunks: [rowChunk("c", "3")] };
    };
    const { store } = await open({ ReadRows: handler });
    const columns = [{ start: Buffer.from(""), end: undefined }];
    const first = await store.readRange({ table: "t", columns, at: 9 });
    expect(first.rows.map((row) => text(row.row))).toEqual(["a", "b"]);
    const second = await store.readRange({ table: "t", columns, at: 9, start: first.next });
    expect(second.rows.map((row) => text(row.row))).toEqual(["c"]);
    expect(second.next).toBeUndefined();
  });

  it("of a range that says only how far it has come is a page to go on from", async () => {
    const handler: Handler = async function* (_, { index }) {
      yield { lastScannedRowKey: Buffer.from("m") };
      if (index === 0) throw new Failure(status.DEADLINE_EXCEEDED);
    };
    const { store } = await open({ ReadRows: handler });
    const columns = [{ start: Buffer.from(""), end: undefined }];
    const page = await store.readRange({ table: "t", columns, at: 9 });
    expect([page.rows.length, text(page.next?.row)]).toEqual([0, "m\0"]);
    expect((await store.readRange({ table: "t", columns, at: 9, start: page.next })).next).toBeUndefined();
  });

  it("of many in one turn goes as one request, goes on after a break, and answers each by itself", async () => {
    const handler: Handler = async function* (request, { index }) {
      const keys = (request.rows as { rowKeys: Uint8Array[] }).rowKeys.map((key) => text(key)!);
      if (index === 0) {
        expect(keys).toEqual(["a", "b", "c"]);
        yield { chunks: [rowChunk("a", "1")] };
        throw new Failure(status.UNAVAILABLE);
      }
      expect(keys).toEqual(["b", "c"]);
      yield { chunks: [rowChunk("c", "3")] };
    };
    const { service, store } = await open({ ReadRows: handler }, { gather: true });
    await store.prepare(["t"]);
    const pages = ["a", "b", "c", "a"].map((row) => store.readRow({ ...read, row: Buffer.from(row) }));
    const shown = (await Promise.all(pages)).map((page) => text(page.cells[0]?.write?.value));
    expect(shown).toEqual(["1", undefined, "3", "1"]);
    expect(service.count("ReadRows")).toBe(2);
  });

  it("of one who gives up leaves the request to the others", async () => {
    const controller = new AbortController();
    const handler: Handler = async () => {
      controller.abort();
      return answers({ chunks: [rowChunk("b", "2")] }) as never;
    };
    const { store } = await open(
      {
        ReadRows: async function* (...call) {
          yield* (await handler(...call)) as AsyncIterable<Plain>;
        },
      },
      { gather: true },
    );
    await store.prepare(["t"]);
    const given = Promise.resolve(store.readRow(read, { signal: controller.signal }));
    const other = store.readRow({ ...read, row: Buffer.from("b") });
    await expect(given).rejects.toMatchObject({ code: "ABORTED" });
    expect(text((await other).cells[0]?.write?.value)).toBe("2");
  });

  it("shows nothing where a table never was, and fails where one is gone", async () => {
    let there = false;
    const missing = () => {
      throw new Failure(status.NOT_FOUND);
    };
    const { service, store } = await open({
      GetTable: () => (there ? usableTable : missing()),
      ReadRows: missing,
    });
    expect((await store.readRow(read)).cells).toEqual([]);
    expect(service.count("ReadRows")).toBe(0);
    there = true;
    await expect(store.readRow(read)).rejects.toThrow("is not there");
  });

  it("goes backwards by chunks where the service cannot, and its pages go on from each other", async () => {
    const rows = Array.from({ length: 350 }, (_, i) => `key${String(i).padStart(4, "0")}`);
    const handler: Handler = async function* (request) {
      const [range] = (request.rows as { rowRanges: Record<string, Uint8Array | undefined>[] }).rowRanges;
      const [low, high] = [text(range?.startKeyClosed) ?? "", text(range?.endKeyOpen) ?? "\xff\xff"];
      const some = rows.filter((row) => row >= low && row < high).slice(0, request.rowsLimit as number);
      yield { chunks: some.map((row) => rowChunk(row, "v")) };
    };
    const { service, store } = await open({ ReadRows: handler });
    const columns = [{ exact: column }];
    const shown: string[] = [];
    let end: { row: Uint8Array } | undefined;
    do {
      const page = await store.readRange({ table: "t", columns, at: 9, end, reverse: true });
      shown.push(...page.rows.map(({ row }) => text(row)!));
      end = page.next;
    } while (end !== undefined);
    expect(shown).toEqual([...rows].reverse());
    expect(service.count("ReadRows")).toBeLessThan(300);
    service.calls.splice(0);
    const last = await store.readRange({ table: "t", columns, at: 9, reverse: true, limit: 3 });
    expect(last.rows.map(({ row }) => text(row))).toEqual(["key0349", "key0348", "key0347"]);
  });
});

describe("a request", () => {
  it("carries its table, app profile and what the client can do", async () => {
    const service = await TestService.start({ MutateRow: () => ({}) });
    const place = "bigtable://proj/inst?prefix=shop&profile=single";
    const store = await openBigtableStore(place, { emulatorHost: service.host, gather: false });
    ended.push(async () => {
      service[Symbol.dispose]();
      await store.close();
    });
    await store.mutate(mutation("r", false));
    const call = service.calls.find(({ method }) => method === "MutateRow")!;
    const path = "projects/proj/instances/inst/tables/shop..t";
    expect(call.request).toMatchObject({ tableName: path, appProfileId: "single" });
    expect(call.metadata.get("x-goog-request-params")).toEqual([
      `table_name=${encodeURIComponent(path)}&app_profile_id=single`,
    ]);
    expect(call.metadata.get("google-cloud-resource-prefix")).toEqual(["projects/proj/instances/inst"]);
    expect(call.metadata.get("bigtable-features")[0]).toBe(Buffer.from([8, 1, 32, 1]).toString("base64url"));
  });
});
