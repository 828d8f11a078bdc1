import { existsSync } from "node:fs";
import { Client } from "pg";
import { expect, test } from "vitest";
import { ProgramProcess } from "../support/program-process.js";

test("a server that a program starts for itself ends with it, even by SIGKILL, and leaves no folder", async () => {
  const program = new ProgramProcess("test/postgres/server-child.ts");
  await program.said((line) => existsSync(line));
  const host = program.lines[0]!;
  const client = new Client({ host, user: "postgres", database: "postgres" });
  await client.connect();
  const ended = new Promise<void>((resolve) => client.once("end", resolve));
  client.on("error", () => undefined);
  await program.kill();
  await ended;
  await expect.poll(() => existsSync(host)).toBe(false);
});
