import { createInterface } from "node:readline";
import { open, PercolatorError, table, text } from "percolatordb";
import { openLmdbStore } from "../../src/store/lmdb/index.js";

/**
 * Reads the names in the table `things` at the beginning, and again for each line of input. Prints
 * them as a line of JSON each time.
 */
const things = table("things", { name: text() });
const db = await open(process.argv[2]!, { readOnly: true, tables: [things] });
const snapshot = await db.snapshot();
const store = await openLmdbStore(process.argv[2]!, { readOnly: true });

const say = (what: object) => process.stdout.write(`${JSON.stringify(what)}\n`);

/** The result of a read, or the code of its error. */
async function outcome<T>(
  read: () => Promise<T>,
): Promise<T | { readonly code: string; readonly message: string }> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof PercolatorError) return { code: error.code, message: error.message };
    throw error;
  }
}

async function scan(): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for await (const { row, value } of snapshot.scan(things.name)) found[row] = value.slice(0, 5);
  return found;
}

const [row, column] = [Buffer.from("other"), Buffer.from("name")];
const present = { columns: [{ exact: column }], at: Number.POSITIVE_INFINITY };
const cells = { table: "things", start: undefined, end: undefined, column, at: 1, reverse: false, limit: 1 };

/**
 * Each way to read a store. Each is a single call, so it must detect an error itself and cannot
 * rely on an earlier call that fails.
 */
const reads: Readonly<Record<string, () => unknown>> = {
  readRow: () => store.readRow({ table: "things", row, ...present }),
  readRange: () => store.readRange({ table: "things", ...present }),
  readRaw: () => store.readRaw({ table: "things", columns: present.columns, parts: ["write"] }),
  splitPoints: () => store.splitPoints("things", 4),
  counter: () => store.atomic!.counter(),
  verify: () => store.verify!(),
};

async function read(): Promise<object> {
  const refused: string[] = [];
  for (const [name, use] of Object.entries(reads)) {
    const came = await outcome(async () => use());
    if (typeof came === "object" && came !== null && "code" in came) refused.push(name);
  }
  return {
    refused,
    // This must stay empty: a reader without locks cannot lend buffers, because they are not
    // checked and can be overwritten at any moment.
    lent: [
      store.zeroCopy!.cell("things", row, row.length, column, 1),
      store.zeroCopy!.column(cells, () => true),
    ].filter((answer) => answer !== undefined),
    // Each of these reads returns its own result or error, even if another one fails.
    one: await outcome(async () => (await snapshot.get(things.name, "one"))?.slice(0, 5)),
    found: await outcome(scan),
    problems: await outcome(() => db.check()),
  };
}

say(await read());
for await (const _ of createInterface({ input: process.stdin })) say(await read());
await store.close();
await snapshot.close();
await db.close();
