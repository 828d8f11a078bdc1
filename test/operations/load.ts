/**
 * A program that uses a cluster while it is operated. It writes documents and reads them back until
 * SIGTERM, with a timeout longer than any fault. It reads its orders as one line of JSON. It prints
 * `began`, regularly `done COUNT`, and `failed CODE: MESSAGE` for each failed operation.
 */
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { open, PercolatorError } from "percolatordb";
import app, { documents } from "./app.js";

/** The orders of a load. */
export interface LoadOrders {
  readonly location: string;
  /** The file whose first line is the token. */
  readonly tokenFile: string;
  readonly caFile: string;
}

/** Longer than any fault of the test, including its aftermath. */
const timeoutMs = 180_000;
const writers = 3;
const rows = 40;
const betweenMs = 40;
const sayMs = 200;

const say = (line: string) => process.stdout.write(`${line}\n`);
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

const { value } = await createInterface({ input: process.stdin })[Symbol.asyncIterator]().next();
const { location, tokenFile, caFile } = JSON.parse(value as string) as LoadOrders;
const db = await open(location, {
  ...app,
  create: false,
  coordinator: {
    token: () => readFileSync(tokenFile, "utf8").split("\n")[0]!,
    tls: () => ({ ca: readFileSync(caFile, "utf8") }),
  },
});

let isEnding = false;
let done = 0;
let next = 0;

async function operate(): Promise<void> {
  const number = next++;
  const row = `document-${number % rows}`;
  const contents = Array.from({ length: 1 + (number % 7) }, () => "word").join(" ");
  try {
    await db.transact((tx) => tx.set(documents.contents, row, contents), { timeoutMs });
    const length = await db.transact(async (tx) => (await tx.get(documents.contents, row))?.length, {
      timeoutMs,
    });
    if (length === undefined) say(`failed LOST: ${row} is gone`);
    done += 2;
  } catch (error) {
    say(`failed ${error instanceof PercolatorError ? error.code : "UNNAMED"}: ${String(error)}`);
  }
}

async function write(): Promise<void> {
  while (!isEnding) {
    await operate();
    await pause(betweenMs);
  }
}

const running = Array.from({ length: writers }, () => write());
const saying = setInterval(() => say(`done ${done}`), sayMs);
say("began");
await new Promise<void>((resolve) => process.once("SIGTERM", resolve));
isEnding = true;
await Promise.all(running);
clearInterval(saying);
say(`done ${done}`);
await db.close();
process.exit(0);
