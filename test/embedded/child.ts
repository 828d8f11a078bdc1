import { openLmdbStore } from "percolatordb/lmdb";
import type { RowStore } from "../../src/store/index.js";

/**
 * A process of the tests that uses a folder in one of several ways. It prints a line for each
 * confirmed write.
 */
const [mode, path, name, amount] = process.argv.slice(2);
const commitTimestamp = -1;
const column = Buffer.from("c");
const forever = Number.POSITIVE_INFINITY;

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function put(table: string, row: string, value: string | Uint8Array, timestamp = commitTimestamp) {
  const bytes = typeof value === "string" ? Buffer.from(value) : value;
  return {
    table,
    row: Buffer.from(row),
    guards: [],
    mutations: [{ type: "put", column, part: "write", timestamp, value: bytes } as const],
  };
}

/** Commits pairs of rows endlessly: the same number in both tables. */
async function pairs(store: RowStore): Promise<void> {
  let next = 0;
  const worker = async () => {
    for (;;) {
      const i = next++;
      const answer = await store.atomic!.commit({
        rows: [put("left", `${name} ${i % 500}`, `${i}`), put("right", `${name} ${i % 500}`, `${i}`)],
      });
      if (answer.answer !== "applied") throw new Error(`a batch was ${answer.answer}`);
      say(`${answer.timestamp} ${i}`);
    }
  };
  await Promise.all(Array.from({ length: 20 }, worker));
}

/** Takes numbered slots that other processes also try to take. */
async function slots(store: RowStore): Promise<void> {
  const count = Number(amount);
  await Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const guard = { type: "absent", column, part: "write", from: 0, to: forever } as const;
      const rows = [{ ...put("slots", `${i}`, name!), guards: [guard] }];
      const answer = await store.atomic!.commit({ rows });
      if (answer.answer === "applied") say(`slot ${i} ${answer.timestamp}`);
      say(`next ${await store.atomic!.next()}`);
    }),
  );
}

/** Writes many bytes, so that the map grows. */
async function grow(store: RowStore): Promise<void> {
  for (let i = 0; i < Number(amount); i++) {
    const answer = await store.mutate(put("grown", `${name} ${i}`, Buffer.alloc(1_000_000, i), 1));
    if (answer !== "applied") throw new Error(`a mutation was ${answer}`);
  }
  say("grown");
}

/** Writes until the disk is full, then deletes and writes again. */
async function fill(store: RowStore): Promise<void> {
  let failed: unknown;
  let written = 0;
  for (; failed === undefined; written++) {
    const value = Buffer.alloc(100_000, written);
    const batch = { rows: [put("left", `${written}`, value), put("right", `${written}`, value)] };
    await store.atomic!.commit(batch).catch((error: unknown) => {
      failed = error;
    });
  }
  say(`failed ${(failed as { code?: string }).code} after ${written - 1}`);
  const many = Array.from({ length: 30 }, (_, i) =>
    store.mutate(put("more", `${i}`, Buffer.alloc(100_000, i), 1)).then(
      () => "applied",
      (error: { code?: string }) => error.code,
    ),
  );
  say(`more ${[...new Set(await Promise.all(many))].sort().join(" ")}`);
  for (let i = 0; i < written - 1; i++) {
    const mutations = [{ type: "delete", column, part: "write", from: 0, to: forever } as const];
    const answer = await store.mutate({ table: "right", row: Buffer.from(`${i}`), guards: [], mutations });
    if (answer !== "applied") throw new Error(`a delete was ${answer}`);
  }
  say("deleted");
  const answer = await store.atomic!.commit({ rows: [put("left", "last", "written")] });
  say(`last ${answer.answer}`);
}

/** Reads once, and does not end. */
async function stay(store: RowStore): Promise<void> {
  store.atomic!.counter();
  say("reading");
  await new Promise((resolve) => setTimeout(resolve, 60_000));
}

const modes = { pairs, slots, grow, fill, stay } as const;
const store = await openLmdbStore(path!);
say("open");
await modes[mode as keyof typeof modes](store);
await store.close();
say("closed");
