// A process is killed while it writes. What it was told to be committed is there afterwards.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { open } from "percolatordb";
import { documents, measure, same } from "./app.mjs";

const folder = process.env.FOLDER;
if (process.env.ROLE === "writer") {
  const db = await open(folder, { observers: [measure] });
  for (let index = 0; ; index++) {
    const row = `row ${index}`;
    await db.transact((tx) => tx.set(documents.body, row, "abc"));
    process.stdout.write(`${row}\n`);
  }
}
const [program, ...options] = JSON.parse(process.env.RUNTIME);
const child = spawn(program, [...options, new URL(import.meta.url).pathname], {
  env: { ...process.env, ROLE: "writer" },
  stdio: ["ignore", "pipe", "inherit"],
});
const told = [];
for await (const row of createInterface({ input: child.stdout })) {
  told.push(row);
  if (told.length === 200) child.kill("SIGKILL");
}
const db = await open(folder, { observers: [measure] });
await db.drain();
const lengths = await db.transact((tx) => tx.getMany(documents.length, told));
same(
  lengths,
  told.map(() => 3),
);
same(await db.check(), []);
await db.close();
