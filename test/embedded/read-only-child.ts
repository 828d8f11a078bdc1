import { createInterface } from "node:readline";
import { open, PercolatorError, table, text } from "percolatordb";

/** Reads all names of the folder, once for each line that it is told; each answer is a line of JSON. */
const things = table("things", { name: text() });
const db = await open(process.argv[2]!, { readOnly: true, tables: [things] });
const snapshot = await db.snapshot();

const say = (what: object) => process.stdout.write(`${JSON.stringify(what)}\n`);

async function names(): Promise<object> {
  try {
    const found: Record<string, string> = {};
    for await (const { row, value } of snapshot.scan(things.name)) found[row] = value;
    return { found, one: (await snapshot.get(things.name, "one"))?.slice(0, 5) };
  } catch (error) {
    return error instanceof PercolatorError
      ? { code: error.code, message: error.message }
      : { error: `${error}` };
  }
}

say(await names());
for await (const _ of createInterface({ input: process.stdin })) {
  say({ ...(await names()), problems: await db.check().catch((error) => error.code) });
}
await snapshot.close();
await db.close();
