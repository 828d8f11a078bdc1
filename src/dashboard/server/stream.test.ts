import { expect, test } from "vitest";
import { systemEnvironment } from "../../environment/index.js";
import type { RecordedTransaction } from "../recording/report.js";
import { GatheredReports } from "../sources/gathered.js";
import { Shared } from "../sources/shared.js";
import { Streams } from "./stream.js";

const never = () => new Promise<never>(() => undefined);

class Told extends GatheredReports {
  tell: (transactions: readonly RecordedTransaction[]) => void = () => undefined;

  override onTransactions(listener: typeof this.tell): () => void {
    this.tell = listener;
    return () => undefined;
  }
}

test("a viewer that does not read misses events, and gets new ones after reading again", async () => {
  const gathered = new Told([], systemEnvironment);
  const overview = new Shared(systemEnvironment, 1_000, never);
  const streams = new Streams({ environment: systemEnvironment, gathered, overview });
  const reader = streams.add().getReader();
  const one = {
    label: "x".repeat(1_000),
    conflict: undefined,
    read: [],
    written: [],
  } as unknown as RecordedTransaction;
  for (let count = 0; count < 1_000; count++) gathered.tell([one]);
  const decoder = new TextDecoder();
  const next = async () => decoder.decode((await reader.read()).value);
  expect(await next()).toBe("retry: 2000\n\n");
  let bytes = 0;
  for (let count = 0; count < 16; count++) bytes += (await next()).length;
  expect(bytes).toBeLessThan(32_000);
  gathered.tell([{ ...one, label: "newer" }]);
  let event = "";
  while (!event.includes("newer")) event = await next();
  await reader.cancel();
  gathered.tell([one]);
  streams.close();
});

test("a viewer that reads nothing for a minute is ended, and its place is free", () => {
  let passedMs = 0;
  const environment = { ...systemEnvironment, monotonic: () => passedMs };
  const gathered = new Told([], environment);
  const streams = new Streams({ environment, gathered, overview: new Shared(environment, 1_000, never) });
  const ended: number[] = [];
  for (let viewer = 0; viewer < 32; viewer++) streams.add(() => ended.push(viewer));
  const one = { label: "x".repeat(20_000), read: [], written: [] } as unknown as RecordedTransaction;
  gathered.tell([one]);
  expect(() => streams.add()).toThrow("32 viewers");
  passedMs = 60_000;
  gathered.tell([one]);
  expect(ended).toEqual([]);
  passedMs = 60_001;
  gathered.tell([one]);
  expect(ended).toHaveLength(32);
  streams.add();
  streams.close();
});
