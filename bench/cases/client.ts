import { type Emulator, startEmulator } from "../../test/support/emulator/index.js";
import { inFlight, WrongResultError } from "../harness/compare.js";
import { rowOf } from "../harness/data.js";
import { cpuSeconds } from "../harness/usage.js";
import { type Bench, type BenchCase, type CaseFigure, figureOf } from "./bench.js";
import { RawBigtable } from "./bigtable-raw.js";
import { GoogleBigtable } from "./google-bigtable.js";

const width = 50;
const value = Buffer.alloc(100, "x");
const column = Buffer.from("contents");
const place = "bigtable://project/instance?prefix=client";

/** A client that is measured. All clients send the same two requests. */
interface Client {
  mutate(row: Buffer, column: Buffer, timestamp: number, value: Buffer): Promise<boolean>;
  read(row: Buffer, column: Buffer, at: number): Promise<Uint8Array | undefined>;
  close(): void;
}

/**
 * The cost of a Bigtable request in this process: the store's transport compared with the client
 * that Google's package generates, for the same messages. Google's client is measured only if it is
 * installed.
 */
export const client: BenchCase = {
  name: "client",
  about: `processor time of a request to Bigtable's emulator, ${width} in flight, beside Google's client if that is installed`,
  async run(bench) {
    const emulator = await startEmulator();
    try {
      return { comparisons: [], figures: await measure(bench, emulator) };
    } finally {
      await emulator.stop();
    }
  },
};

async function measure(bench: Bench, { host }: Emulator): Promise<readonly CaseFigure[]> {
  const ours = await RawBigtable.open(host, place);
  const google = await GoogleBigtable.open(host, ours.path);
  const clients: [string, Client][] = [["grpc-js, own codecs", ours]];
  if (google !== undefined) clients.push(["v2.BigtableClient", google]);
  try {
    const samples = await sample(bench, clients);
    return [...samples].map(([name, all]) => figureOf(name, "us of processor time a request", all));
  } finally {
    for (const [, each] of clients) each.close();
  }
}

/**
 * Returns the microseconds of each measurement. The clients take turns. The first measurements are
 * left out, because code is compiled then.
 */
async function sample(bench: Bench, clients: readonly [string, Client][]): Promise<Map<string, number[]>> {
  const count = bench.options.quick ? 3_000 : 10_000;
  const samples = new Map<string, number[]>();
  let timestamp = 1;
  for (let round = -1; round < bench.options.rounds; round++) {
    for (const [name, each] of clients) {
      bench.say(`client: ${name}`);
      const at = ++timestamp;
      const rows = (index: number) => Buffer.from(rowOf(index));
      const measured: [string, (index: number) => Promise<unknown>][] = [
        [`conditional mutation, ${name}`, (index) => expectApplied(each, rows(index), at)],
        [`read of a row, ${name}`, (index) => expectRead(each, rows(index), at)],
      ];
      for (const [what, run] of measured) {
        const microseconds = await processorTime(count, run);
        if (round >= 0) samples.set(what, [...(samples.get(what) ?? []), microseconds]);
      }
    }
  }
  return samples;
}

/**
 * Mutates, and checks the answer. The check costs little, and it costs the same for all clients.
 */
async function expectApplied(client: Client, row: Buffer, at: number): Promise<void> {
  if (await client.mutate(row, column, at, value)) return;
  throw new WrongResultError(`The mutation of row ${row.toString()} at ${at} was refused.`);
}

async function expectRead(client: Client, row: Buffer, at: number): Promise<void> {
  const found = await client.read(row, column, at);
  if (found !== undefined && value.equals(found)) return;
  throw new WrongResultError(`Row ${row.toString()} at ${at} is not read as it was put.`);
}

/** Measures the processor time of all threads of this process, in microseconds for each run. */
async function processorTime(count: number, run: (index: number) => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await inFlight(count, width, run);
  return (cpuSeconds(before) * 1e6) / count;
}
