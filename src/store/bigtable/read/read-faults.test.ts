import { status } from "@grpc/grpc-js";
import { afterEach, describe, expect, it } from "vitest";
import { column, endAll, openOn, read, text } from "../../../../test/support/bigtable/faults.js";
import {
  answers,
  Failure,
  type Handler,
  never,
  type Plain,
  rowChunk,
  usableTable,
} from "../../../../test/support/bigtable/service.js";
import { pageLimits } from "./pages.js";

afterEach(endAll);

describe("a read", () => {
  it.each([false, true])("that is not answered in time is retried (batched: %s)", async (gather) => {
    const handler: Handler = async function* (_, { index }) {
      if (index === 0) await never();
      yield { chunks: [rowChunk("r", "v")] };
    };
    const { service, store } = await openOn(
      { ReadRows: handler },
      { gather, deadlineMs: 100, retryForMs: 60_000 },
    );
    expect(text((await store.readRow(read)).cells[0]?.write?.value)).toBe("v");
    const page = await store.readRange({ table: "t", columns: [{ exact: column }], at: 9 });
    expect(page.rows.length).toBe(1);
    expect(service.count("ReadRows")).toBeGreaterThanOrEqual(3);
    expect(store.statistics()).toMatchObject({ readsRepeated: service.count("ReadRows") - 2 });
  });

  it("does not ask again for rows without cells that a broken stream has passed", async () => {
    const handler: Handler = async function* (_, { index }) {
      if (index > 0) return;
      yield { lastScannedRowKey: Buffer.from("r") };
      throw new Failure(status.UNAVAILABLE);
    };
    const { service, store } = await openOn({ ReadRows: handler }, { gather: true });
    expect((await store.readRow(read)).cells).toEqual([]);
    expect(service.count("ReadRows")).toBe(1);
  });

  it("whose stream never comes to its row fails in the end", async () => {
    const handler: Handler = async function* () {
      yield { lastScannedRowKey: Buffer.from("a") };
      throw new Failure(status.UNAVAILABLE);
    };
    const { store } = await openOn({ ReadRows: handler }, { gather: true, retryForMs: 300 });
    await expect(Promise.resolve(store.readRow(read))).rejects.toThrow("read table");
  });

  it("gets more time for each retry after a timeout, and fails in the end", async () => {
    const handler: Handler = async function* () {
      await never();
      yield {};
    };
    const { service, store } = await openOn({ ReadRows: handler }, { deadlineMs: 100, retryForMs: 600 });
    const range = { table: "t", columns: [{ exact: column }], at: 9 };
    await expect(store.readRange(range)).rejects.toThrow("The service did not answer in time");
    // If all attempts had the same time limit, there would be six.
    expect(service.count("ReadRows")).toBeGreaterThan(1);
    expect(service.count("ReadRows")).toBeLessThan(5);
  });

  it("is retried after a passing failure, up to a limit", async () => {
    const passing = [status.UNAVAILABLE, status.ABORTED, status.INTERNAL, status.CANCELLED];
    const handler: Handler = (_, { index }) => {
      const code = passing[index];
      if (code !== undefined) throw new Failure(code);
      return answers({ chunks: [rowChunk("r", "v")] });
    };
    const { service, store } = await openOn({ ReadRows: handler });
    const page = await store.readRow(read);
    expect(text(page.cells[0]?.write?.value)).toBe("v");
    expect(service.count("ReadRows")).toBe(5);
  });

  it("of split points restarts after a passing failure, and shows each once", async () => {
    const handler: Handler = async function* (_, { index }) {
      yield { rowKey: Buffer.from("m") };
      if (index < 2) throw new Failure(status.UNAVAILABLE);
      yield { rowKey: Buffer.from("t") };
      yield { rowKey: Buffer.from("t") };
    };
    const { service, store } = await openOn({ SampleRowKeys: handler });
    expect((await store.splitPoints("t", 9)).map(text)).toEqual(["m", "t"]);
    expect(service.count("SampleRowKeys")).toBe(3);
  });

  it.each([status.PERMISSION_DENIED, status.INVALID_ARGUMENT, status.NOT_FOUND, status.FAILED_PRECONDITION])(
    "fails at once after status %s",
    async (code) => {
      const fail = () => {
        throw new Failure(code);
      };
      const { service, store } = await openOn({ ReadRows: fail });
      await expect(store.readRow(read)).rejects.toMatchObject({ code: "STORE", retryable: false });
      expect(service.count("ReadRows")).toBe(1);
    },
  );

  it("fails in the end, with advice, if the failure persists", async () => {
    const fail = () => {
      throw new Failure(status.UNAVAILABLE);
    };
    const { service, store } = await openOn({ ReadRows: fail }, { retryForMs: 1_500 });
    const message = expect.stringContaining("check the network");
    await expect(store.readRow(read)).rejects.toMatchObject({ code: "STORE", retryable: true, message });
    expect(service.count("ReadRows")).toBeGreaterThan(1);
  });

  it("is not retried when the store is closed", async () => {
    const closed = new AbortController();
    const fail = () => {
      closed.abort();
      throw new Failure(status.UNAVAILABLE);
    };
    const { store } = await openOn({ ReadRows: fail }, { retryForMs: 3_600_000 });
    const closing = new Promise((resolve) => closed.signal.addEventListener("abort", resolve)).then(() =>
      store.close(),
    );
    await expect(store.readRow(read)).rejects.toThrow("check the network");
    await closing;
  });

  it.each([false, true])("ends if its signal is aborted before it is sent (batched: %s)", async (gather) => {
    const controller = new AbortController();
    const look: Handler = () => {
      controller.abort();
      return usableTable;
    };
    const silent: Handler = async function* () {
      yield {};
      await never();
    };
    const options = { gather, deadlineMs: 3_600_000 };
    const { store } = await openOn({ GetTable: look, ReadRows: silent }, options);
    const { signal } = controller;
    await expect(store.readRow(read, { signal })).rejects.toMatchObject({ code: "ABORTED" });
  });

  it("that is not answered in time fails, even if the stream falls silent midway", async () => {
    const handler: Handler = async function* (_, { index }) {
      if (index > 0) yield { chunks: [rowChunk("r", "v", { commitRow: undefined, valueSize: 9 })] };
      await never();
    };
    const { store } = await openOn({ ReadRows: handler }, { deadlineMs: 60 });
    await expect(store.readRow(read)).rejects.toThrow("The service did not answer in time");
    await expect(store.readRow(read)).rejects.toThrow("The service did not answer in time");
  });

  it("of a range that is cut off gives a shorter page", async () => {
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
    const { store } = await openOn({ ReadRows: handler });
    const columns = [{ start: Buffer.from(""), end: undefined }];
    const first = await store.readRange({ table: "t", columns, at: 9 });
    expect(first.rows.map((row) => text(row.row))).toEqual(["a", "b"]);
    const second = await store.readRange({ table: "t", columns, at: 9, start: first.next });
    expect(second.rows.map((row) => text(row.row))).toEqual(["c"]);
    expect(second.next).toBeUndefined();
  });

  it("of a range ends its page with the row that fills it", async () => {
    const sent = (name: number, more: Plain) => {
      const row = String(name).padStart(4, "0");
      return [
        rowChunk(row, "", { commitRow: undefined, qualifier: { value: Buffer.from("a") } }),
        rowChunk(row, "", { rowKey: undefined, qualifier: { value: Buffer.from("b") }, ...more }),
      ];
    };
    const rowsOf = async (more: Plain) => {
      const handler: Handler = async function* () {
        for (let name = 0; name < 600; name += 20)
          yield { chunks: Array.from({ length: 20 }, (_, i) => sent(name + i, more)).flat() };
      };
      const { store } = await openOn({ ReadRows: handler });
      const columns = [{ start: Buffer.from(""), end: undefined }];
      const page = await store.readRange({ table: "t", columns, at: 9 });
      expect(page.next?.row).toEqual(Buffer.concat([page.rows.at(-1)!.row, Buffer.from([0])]));
      return page.rows.length;
    };
    expect(await rowsOf({})).toBe(pageLimits.cells / 2);
    // A row's key and two columns have six bytes.
    const bytes = pageLimits.bytes / 64;
    expect(await rowsOf({ value: Buffer.alloc(bytes - 6) })).toBe(64);
    expect(await rowsOf({ value: Buffer.alloc(bytes - 7) })).toBe(65);
  });

  it("of a range that only shows its progress gives a page from which to continue", async () => {
    const handler: Handler = async function* (_, { index }) {
      yield { lastScannedRowKey: Buffer.from("m") };
      if (index === 0) throw new Failure(status.DEADLINE_EXCEEDED);
    };
    const { store } = await openOn({ ReadRows: handler });
    const columns = [{ start: Buffer.from(""), end: undefined }];
    const page = await store.readRange({ table: "t", columns, at: 9 });
    expect([page.rows.length, text(page.next?.row)]).toEqual([0, "m\0"]);
    expect((await store.readRange({ table: "t", columns, at: 9, start: page.next })).next).toBeUndefined();
  });

  it("of many rows in one turn is sent as one request, continues after a break, and each is answered by itself", async () => {
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
    const { service, store } = await openOn({ ReadRows: handler }, { gather: true });
    await store.prepare(["t"]);
    const pages = ["a", "b", "c", "a"].map((row) => store.readRow({ ...read, row: Buffer.from(row) }));
    const shown = (await Promise.all(pages)).map((page) => text(page.cells[0]?.write?.value));
    expect(shown).toEqual(["1", undefined, "3", "1"]);
    expect(service.count("ReadRows")).toBe(2);
  });

  it("that one caller aborts leaves the request to the others", async () => {
    const controller = new AbortController();
    const handler: Handler = async () => {
      controller.abort();
      return answers({ chunks: [rowChunk("b", "2")] }) as never;
    };
    const { store } = await openOn(
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

  it("returns nothing for a table that never existed, and fails for one that was deleted", async () => {
    let there = false;
    const missing = () => {
      throw new Failure(status.NOT_FOUND);
    };
    const { service, store } = await openOn({
      GetTable: () => (there ? usableTable : missing()),
      ReadRows: missing,
    });
    expect((await store.readRow(read)).cells).toEqual([]);
    expect(service.count("ReadRows")).toBe(0);
    there = true;
    await expect(store.readRow(read)).rejects.toThrow("does not exist");
  });

  it("goes backwards in chunks if the service cannot, and its pages continue each other", async () => {
    const rows = Array.from({ length: 350 }, (_, i) => `key${String(i).padStart(4, "0")}`);
    const handler: Handler = async function* (request) {
      const [range] = (request.rows as { rowRanges: Record<string, Uint8Array | undefined>[] }).rowRanges;
      const [low, high] = [text(range?.startKeyClosed) ?? "", text(range?.endKeyOpen) ?? "\xff\xff"];
      const some = rows.filter((row) => row >= low && row < high).slice(0, request.rowsLimit as number);
      yield { chunks: some.map((row) => rowChunk(row, "v")) };
    };
    const { service, store } = await openOn({ ReadRows: handler });
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
