import { writeSync } from "node:fs";
import { open, PercolatorError, table, text } from "../../src/index.js";

/** Fills a folder, or opens it and prints its one value or the error's code. */
const [doing, path] = process.argv.slice(2) as [string, string];
const things = table("things", { name: text() });
const say = (line: string) => writeSync(1, `${line}\n`);

try {
  const db = await open(path, { tables: [things] });
  if (doing === "fill") {
    await db.transact((tx) => tx.set(things.name, "one", "value"));
    say("filled");
  } else {
    await using snapshot = await db.snapshot();
    say(String(await snapshot.get(things.name, "one")));
  }
  await db.close();
} catch (error) {
  if (!(error instanceof PercolatorError)) throw error;
  say(error.code);
}
