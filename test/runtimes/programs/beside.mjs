// Two processes use one folder: this runtime writes, and a worker of Node's derives.
import { spawn } from "node:child_process";
import { open } from "percolatordb";
import { documents, measure, same } from "./app.mjs";

const folder = process.env.FOLDER;
if (process.env.ROLE === "worker") {
  const db = await open(folder, { observers: [measure] });
  const working = db.work();
  process.on("SIGTERM", async () => {
    await working.stop();
    await db.close();
    process.stdout.write("closed");
  });
} else {
  // Registered here too, so that no row is written before.
  const db = await open(folder, { observers: [measure] });
  const worker = spawn(process.env.NODE, [new URL(import.meta.url).pathname], {
    env: { ...process.env, ROLE: "worker" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  for (let index = 0; index < 100; index++) {
    await db.transact((tx) => tx.set(documents.body, `row ${index}`, "abc"));
  }
  const live = db.live((snapshot) => snapshot.get(documents.length, "row 99"));
  for await (const { value } of live) if (value === 3) break;
  await db.idle();
  const rows = Array.from({ length: 100 }, (_, index) => `row ${index}`);
  same(
    await db.transact((tx) => tx.getMany(documents.length, rows)),
    rows.map(() => 3),
  );
  worker.kill("SIGTERM");
  // Deno reports no exit code of a process that it has sent a signal.
  let printed = "";
  for await (const chunk of worker.stdout) printed += chunk;
  same(printed, "closed");
  same(await db.check(), []);
  await db.close();
}
