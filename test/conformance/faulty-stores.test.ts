import { AbortedError, systemEnvironment } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import {
  type AtomicBatch,
  type AtomicStore,
  type ColumnRange,
  commitTimestamp,
  type MutationAnswer,
  type PutMutation,
  type RangePage,
  type RowMutation,
  type RowPage,
  type RowStore,
  type RowView,
  rowAt,
  type StoreDamage,
  type StoreRequestOptions,
  stampBytes,
  type VerifyOptions,
  type Version,
} from "percolatordb/store";
import { storeConformance } from "percolatordb/testing";
import { describe, expect, test, vi } from "vitest";

/** A store in memory with some members replaced. */
function changed(store: RowStore, members: Partial<RowStore>): RowStore {
  return new Proxy(store, {
    get(target, name) {
      if (name in members) return members[name as keyof RowStore];
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

function withAtomic(store: RowStore, members: (atomic: AtomicStore) => Partial<AtomicStore>): RowStore {
  const atomic = store.atomic!;
  return changed(store, { atomic: { ...atomic, ...members(atomic) } });
}

interface Names {
  readonly table?: (name: string) => string;
  readonly key?: (key: Uint8Array) => Uint8Array;
}

/** A store that changes names and row keys before it uses them. */
function renaming(store: RowStore, { table = (name) => name, key = (each) => each }: Names): RowStore {
  const mutation = (each: RowMutation) => ({ ...each, table: table(each.table), row: key(each.row) });
  const renamed = withAtomic(store, (atomic) => ({
    commit: (batch, options) => atomic.commit({ ...batch, rows: batch.rows.map(mutation) }, options),
  }));
  return changed(renamed, {
    readRow: (read, options) =>
      store.readRow({ ...read, table: table(read.table), row: key(read.row) }, options),
    readRange: (read, options) => store.readRange({ ...read, table: table(read.table) }, options),
    readRaw: (read, options) => store.readRaw({ ...read, table: table(read.table) }, options),
    mutate: (each, options) => store.mutate(mutation(each), options),
  });
}

const latin = (change: (text: string) => string) => (key: Uint8Array) =>
  Buffer.from(change(Buffer.from(key).toString("latin1")), "latin1");

/** Returns a function that copies values into one buffer, which each of its users begins again. */
function lending(): () => (version: Version | undefined) => Version | undefined {
  const buffer = Buffer.alloc(4_096);
  return () => {
    let length = 0;
    return (version) => {
      if (version === undefined) return undefined;
      const value = buffer.subarray(length, length + version.value.length);
      value.set(version.value);
      length += value.length;
      return { ...version, value };
    };
  };
}

type Lend = (version: Version | undefined) => Version | undefined;

const lent = <R extends RowView>(row: R, lend: Lend): R => ({
  ...row,
  cells: row.cells.map((cell) => ({ ...cell, lock: lend(cell.lock), write: lend(cell.write) })),
});

/** A page without its last row, if another page follows. */
const cut = <P extends { readonly rows: readonly unknown[]; readonly next: unknown }>(page: P): P =>
  page.next === undefined ? page : { ...page, rows: page.rows.slice(0, -1) };

const cellsOf = ({ rows }: AtomicBatch) =>
  rows.reduce((sum, { guards, mutations }) => sum + guards.length + mutations.length, 0);

const guardBytesOf = ({ guards }: RowMutation) =>
  guards.reduce((sum, { column }) => sum + column.length + 64, 0);

const at = (batch: AtomicBatch, timestamp: number): AtomicBatch => ({
  ...batch,
  rows: batch.rows.map((row) => ({
    ...row,
    mutations: row.mutations.map((each) =>
      each.type === "put" && each.timestamp === commitTimestamp ? { ...each, timestamp } : each,
    ),
  })),
});

interface Sent {
  readonly mutation: RowMutation;
  readonly options: StoreRequestOptions | undefined;
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A store that declares `bulkMutations`, and sends mutations without guards together. */
function bulky(
  send: (store: RowStore, sent: readonly Sent[]) => Promise<readonly MutationAnswer[]>,
): RowStore {
  const store = memoryStore({ bulkMutations: true });
  let waiting: Sent[] = [];
  let sending: Promise<readonly MutationAnswer[]> | undefined;
  return changed(store, {
    mutate: async (mutation, options) => {
      if (mutation.guards.length > 0) return store.mutate(mutation, options);
      const index = waiting.push({ mutation, options }) - 1;
      sending ??= turn().then(() => {
        const sent = waiting;
        [waiting, sending] = [[], undefined];
        return send(store, sent);
      });
      return (await sending)[index]!;
    },
  });
}

/** Faulty stores, and the beginning of the sentence that each of them does not keep. */
const faults: readonly [fault: string, sentence: string, store: () => RowStore][] = [
  [
    "takes tables whose names differ in their case for one",
    "tables are separate",
    () => renaming(memoryStore(), { table: (name) => name.toLowerCase() }),
  ],
  [
    "cuts the names of tables",
    "tables are separate",
    () => renaming(memoryStore(), { table: (name) => name.slice(0, 63) }),
  ],
  [
    "keeps tables in an object with a prototype",
    "tables are separate",
    () => renaming(memoryStore(), { table: (name) => (name in {} ? "" : name) }),
  ],
  [
    "takes keys that differ in their case for one",
    "rows are in the order of their bytes",
    () => renaming(memoryStore(), { key: latin((key) => key.toLowerCase()) }),
  ],
  [
    "drops spaces at the end of a key",
    "rows are in the order of their bytes",
    () => renaming(memoryStore(), { key: latin((key) => key.trimEnd()) }),
  ],
  [
    "takes keys that are a Buffer only",
    "keys and values may be any Uint8Array",
    () =>
      renaming(memoryStore(), { key: (key) => Buffer.from((key as Buffer).toString("latin1"), "latin1") }),
  ],
  [
    "compares values only with a Buffer",
    "keys and values may be any Uint8Array",
    () => {
      const store = memoryStore();
      return changed(store, {
        mutate: (mutation) => {
          for (const guard of mutation.guards)
            if (guard.type === "present" && guard.equals) (guard.equals as Buffer).equals(guard.column);
          return store.mutate(mutation);
        },
      });
    },
  ],
  [
    "reuses the buffer of a range's page",
    "the bytes of a page may be kept",
    () => {
      const store = memoryStore();
      const lend = lending();
      return changed(store, {
        readRange: (read, options) => {
          const page = store.readRange(read, options) as RangePage;
          const each = lend();
          return { ...page, rows: page.rows.map((row) => lent(row, each)) };
        },
      });
    },
  ],
  [
    "reuses the buffer of a row that it returns later",
    "the bytes of a page may be kept",
    () => {
      const store = memoryStore();
      const lend = lending();
      return changed(store, {
        readRow: async (read, options) => lent(store.readRow(read, options) as RowPage, lend()),
      });
    },
  ],
  [
    "shows data that is newer than the read of a range",
    "visible data cells",
    () => {
      const store = memoryStore();
      return changed(store, {
        readRange: (read) => store.readRange({ ...read, at: Number.POSITIVE_INFINITY }),
      });
    },
  ],
  [
    "skips a cell for the newest of its write records",
    "a raw read may leave out",
    () => {
      const store = memoryStore();
      return changed(store, {
        readRaw: async (read, options) => {
          const page = await store.readRaw(read, options);
          const isSkipped = (version: Version | undefined) => version && read.skip?.(version);
          const rows = page.rows.map((row) => ({
            ...row,
            cells: row.cells.filter(({ versions }) => !isSkipped(versions.find((v) => v.part === "write"))),
          }));
          return { ...page, rows: rows.filter(({ cells }) => cells.length > 0) };
        },
      });
    },
  ],
  [
    "refuses a long value",
    "the longest value",
    () => {
      const store = memoryStore();
      return changed(store, {
        mutate: async (mutation) => {
          for (const each of mutation.mutations)
            if (each.type === "put" && each.value.length > 4_000_000) throw new Error("too long");
          return store.mutate(mutation);
        },
      });
    },
  ],
  [
    "cuts a value that is too long",
    "the longest value",
    () => {
      const store = memoryStore();
      const short = (each: PutMutation) => ({ ...each, value: each.value.subarray(0, 16_000_000) });
      return changed(store, {
        mutate: (mutation) => {
          const mutations = mutation.mutations.map((each) => (each.type === "put" ? short(each) : each));
          return store.mutate({ ...mutation, mutations });
        },
      });
    },
  ],
  [
    "counts the limit of a row's mutation over a whole batch",
    "a batch may have more",
    () =>
      withAtomic(memoryStore(), (atomic) => ({
        commit: async (batch) => {
          if (cellsOf(batch) > 1_000) throw new Error("too many");
          return atomic.commit(batch);
        },
      })),
  ],
  [
    "takes a limit of 0 for none in a read of a row",
    "invalid requests are refused",
    () => {
      const store = memoryStore();
      return changed(store, {
        readRow: (read, options) => store.readRow({ ...read, limit: read.limit || undefined }, options),
      });
    },
  ],
  [
    "takes an empty value for none in a guard",
    "present holds",
    () => {
      const store = memoryStore();
      return changed(store, {
        mutate: (mutation) => {
          const guards = mutation.guards.map((guard) =>
            guard.type === "present" && guard.equals?.length === 0 ? { ...guard, equals: undefined } : guard,
          );
          return store.mutate({ ...mutation, guards });
        },
      });
    },
  ],
  [
    "takes fewer bytes of guards than it declares",
    "guards of the declared maximum of bytes",
    () => {
      const store = memoryStore();
      return changed(store, {
        capabilities: { ...store.capabilities, guardBytes: 10_000 },
        mutate: async (mutation) => {
          if (guardBytesOf(mutation) > 9_000) throw new Error("too long");
          return store.mutate(mutation);
        },
      });
    },
  ],
  [
    "has a limit for the bytes of guards, and declares none",
    "guards of the declared maximum of bytes",
    () => {
      const store = memoryStore();
      return changed(store, {
        mutate: async (mutation) => {
          if (guardBytesOf(mutation) > 20_480) throw new Error("too long");
          return store.mutate(mutation);
        },
      });
    },
  ],
  [
    "decides only as many guards as fit into a request",
    "guards of the declared maximum of bytes",
    () => {
      const store = memoryStore();
      return changed(store, {
        mutate: (mutation) => store.mutate({ ...mutation, guards: mutation.guards.slice(0, 200) }),
      });
    },
  ],
  [
    "refuses all mutations of a request if one of them is refused",
    "mutations that are sent together",
    () => bulky((store, sent) => Promise.all(sent.map(({ mutation }) => store.mutate(mutation)))),
  ],
  [
    "ends the wait for all mutations of a request if one of them is aborted",
    "mutations that are sent together",
    () =>
      bulky(async (store, sent) => {
        const isAborted = sent.some(({ options }) => options?.signal?.aborted);
        const answers = await Promise.allSettled(sent.map(({ mutation }) => store.mutate(mutation)));
        return answers.map((each) => (each.status === "rejected" || isAborted ? "unknown" : each.value));
      }),
  ],
  [
    "keeps one of the mutations of a row in a request",
    "mutations that are sent together",
    () =>
      bulky(async (store, sent) => {
        const last = new Map(sent.map((each) => [Buffer.from(each.mutation.row).toString("latin1"), each]));
        for (const { mutation } of last.values()) await store.mutate(mutation).catch(() => undefined);
        return sent.map(() => "applied");
      }),
  ],
  [
    "returns the newest 1,000 versions of a cell",
    "a cell may have more versions",
    () => {
      const store = memoryStore();
      return changed(store, { readRaw: (read) => store.readRaw({ ...read, versions: 1_000 }) });
    },
  ],
  [
    "checks the guards of a mutation before it begins",
    "mutations and batches of one row",
    () => {
      const store = memoryStore();
      return changed(store, {
        mutate: async (mutation) => {
          const checked = await store.mutate({ ...mutation, mutations: [] });
          await turn();
          return checked === "rejected" ? checked : store.mutate({ ...mutation, guards: [] });
        },
      });
    },
  ],
  [
    "lets mutations come between the guards and the mutations of a batch",
    "mutations and batches of one row",
    () =>
      withAtomic(memoryStore(), (atomic) => {
        let last: Promise<unknown> = Promise.resolve();
        return {
          commit: ({ rows }) => {
            const commit = async () => {
              const checked = await atomic.commit({ rows: rows.map((row) => ({ ...row, mutations: [] })) });
              await turn();
              if (checked.answer === "rejected") return checked;
              return atomic.commit({ rows: rows.map((row) => ({ ...row, guards: [] })) });
            };
            const answer = last.then(commit);
            last = answer;
            return answer;
          },
        };
      }),
  ],
  [
    "applies a batch and then says that it was aborted",
    "a signal that is aborted later",
    () =>
      withAtomic(memoryStore(), (atomic) => ({
        commit: async (batch, options) => {
          const answer = await atomic.commit(batch, options);
          await turn();
          if (options?.signal?.aborted) throw new AbortedError("The request was aborted.");
          return answer;
        },
      })),
  ],
  [
    "refuses batches that run when it is closed",
    "close waits",
    () =>
      withAtomic(memoryStore(), (atomic) => ({
        commit: async (batch) => {
          await turn();
          return atomic.commit(batch);
        },
      })),
  ],
  [
    "checks ranges before it begins",
    "of 300 batches that guard one range",
    () =>
      withAtomic(memoryStore(), (atomic) => ({
        commit: async ({ rows, ranges = [] }) => {
          const checked = await atomic.commit({ rows: [], ranges });
          return checked.answer === "rejected" ? checked : atomic.commit({ rows });
        },
      })),
  ],
  [
    "does not compare the values of a batch's guards",
    "present guards of a batch",
    () =>
      withAtomic(memoryStore(), (atomic) => ({
        commit: (batch) => {
          const rows = batch.rows.map((row) => ({
            ...row,
            guards: row.guards.map((guard) =>
              guard.type === "present" ? { ...guard, below: undefined } : guard,
            ),
          }));
          return atomic.commit({ ...batch, rows });
        },
      })),
  ],
  [
    "counts timestamps from 1",
    "timestamps are microseconds",
    () => memoryStore({ environment: { ...systemEnvironment, now: () => 0 } }),
  ],
  [
    "counts milliseconds",
    "timestamps are microseconds",
    () => memoryStore({ environment: { ...systemEnvironment, now: () => Date.now() / 1_000 } }),
  ],
  [
    "gives out a timestamp before the commits below it can be read",
    "what a timestamp of the counter shows",
    () =>
      withAtomic(memoryStore(), (atomic) => ({
        commit: async (batch) => {
          const timestamp = await atomic.next();
          await turn();
          const answer = await atomic.commit(at(batch, timestamp));
          return answer.answer === "applied" ? { ...answer, timestamp } : answer;
        },
      })),
  ],
  [
    "leaves out a row between two pages of a reversed read",
    "a reversed read of more rows than a page",
    () => {
      const store = memoryStore();
      return changed(store, {
        readRange: async (read) => {
          const page = await store.readRange(read);
          return read.reverse && read.limit === undefined ? cut(page) : page;
        },
      });
    },
  ],
  [
    "leaves out a row between two pages of a raw read that are full of bytes",
    "a page is limited in bytes",
    () => {
      const store = memoryStore();
      return changed(store, { readRaw: async (read) => cut(await store.readRaw(read)) });
    },
  ],
  [
    "leaves out a column between two pages of a row that are full of bytes",
    "a page is limited in bytes",
    () => {
      const store = memoryStore();
      return changed(store, {
        readRow: async (read) => {
          const page = await store.readRow(read);
          return page.next === undefined ? page : { ...page, cells: page.cells.slice(0, -1) };
        },
      });
    },
  ],
  [
    "lists a wide row several times among the split points",
    "split points are rows in order",
    () => {
      const store = memoryStore();
      return changed(store, {
        splitPoints: async (table, most) => {
          const columns: ColumnRange[] = [{ start: new Uint8Array(0), end: undefined }];
          const { rows } = await store.readRaw({ table, columns, parts: ["write"] });
          return rows.flatMap(({ row, cells }) => cells.map(() => row)).slice(0, most);
        },
      });
    },
  ],
  [
    "finds damage where there is none",
    "a store finds no damage",
    () => {
      const verify = async (_?: VerifyOptions): Promise<StoreDamage[]> => [
        { message: "damaged", cell: undefined },
      ];
      return changed(memoryStore(), { verify });
    },
  ],
];

/** The conformance tests whose names begin with `sentence`. */
function testsOf(open: () => RowStore, sentence: string): (() => Promise<void>)[] {
  const found: (() => Promise<void>)[] = [];
  storeConformance("a faulty store", open, {
    describe: (_, body) => body(),
    it: (name, body) => {
      if (name.startsWith(sentence)) found.push(body);
    },
    atomicBatches: true,
  });
  return found;
}

describe("the conformance suite notices a store that", () => {
  test.each(faults)("%s", async (_, sentence, store) => {
    const [inMemory] = testsOf(() => memoryStore(), sentence);
    await inMemory!();
    const [body] = testsOf(store, sentence);
    await expect(body!()).rejects.toThrow();
  });
});

test("a store may apply requests that are sent together in any order", async () => {
  const open = () => {
    const store = memoryStore();
    return changed(store, {
      mutate: async (mutation) => {
        await turn();
        return store.mutate(mutation);
      },
    });
  };
  for (const sentence of ["guards on system rows", "mutations and batches of one row"])
    for (const body of testsOf(open, sentence)) await body();
});

test("a test fails with what broke the contract, and only without that with the error of the store's close", async () => {
  const open = (readRow: RowStore["readRow"]) => () => {
    const store = memoryStore();
    return changed(store, { readRow, close: () => Promise.reject(new Error("It cannot close.")) });
  };
  const broken = open(() => Promise.reject(new Error("It cannot read.")));
  const [body] = testsOf(broken, "column ranges include their start");
  await expect(body!()).rejects.toThrow("It cannot read.");
  const store = memoryStore();
  const [right] = testsOf(
    open((read) => store.readRow(read)),
    "split points are rows in order",
  );
  await expect(right!()).rejects.toThrow("It cannot close.");
});

test("a number of steps that is no number is refused, because no request would be made", () => {
  const steps = Number.NaN;
  const suite = { describe: vi.fn(), it: vi.fn(), atomicBatches: true };
  expect(() => storeConformance("a store", () => memoryStore(), { ...suite, steps })).toThrow("`steps`");
});

test("a store may divide a row over pages after any column", async () => {
  const open = () => {
    const store = memoryStore();
    return changed(store, { readRow: (read) => store.readRow({ ...read, limit: 1 }) });
  };
  for (const sentence of ["values may be empty", "visible data cells", "everything in one page"])
    for (const body of testsOf(open, sentence)) await body();
});

test("percolatordb/store has what a store needs to stamp rows", () => {
  const row = Buffer.alloc(4 + stampBytes, "row ");
  const stamped = rowAt({ table: "t", row, guards: [], mutations: [], stamped: true }, 7);
  expect(Buffer.from(stamped)).toEqual(
    Buffer.concat([row.subarray(0, 4), Buffer.from([0, 0, 0, 0, 0, 0, 0, 7])]),
  );
  expect(commitTimestamp).toBe(-1);
});
