import { status } from "@grpc/grpc-js";
import { afterEach, describe, expect, it } from "vitest";
import { endAll, openOn, read } from "../../../../test/support/bigtable/faults.js";
import { answers, type Handler, rowChunk } from "../../../../test/support/bigtable/service.js";
import { InFlight } from "./in-flight.js";

afterEach(endAll);

const turn = () => new Promise((resolve) => setImmediate(resolve));
const readOf = (row: string) => ({ ...read, row: Buffer.from(row) });

/** Answers reads when the test says so, and counts the running ones. */
function gate() {
  const held: (() => void)[] = [];
  let most = 0;
  const handler: Handler = async function* () {
    await new Promise<void>((resolve) => {
      held.push(resolve);
      most = Math.max(most, held.length);
    });
    yield* answers({ chunks: [rowChunk("r", "v")] });
  };
  return {
    handler,
    most: () => most,
    async until(count: number) {
      while (held.length < count) await turn();
    },
    open: () => held.shift()?.(),
  };
}

describe("requests beyond `maxInFlight`", () => {
  it.each([
    ["by the option", { maxInFlight: 2 }, "bigtable://p/i"],
    ["by the location", {}, "bigtable://p/i?maxInFlight=2"],
  ])("wait until another one has ended, %s", async (_, options, place) => {
    const reads = gate();
    const { service, store } = await openOn({ ReadRows: reads.handler }, options, place);
    await store.prepare(["t"]);
    const pages = ["a", "b", "c", "d", "e"].map((row) => store.readRow(readOf(row)));
    for (let sent = 2; sent <= 5; sent++) {
      await reads.until(Math.min(2, 7 - sent));
      expect(service.count("ReadRows")).toBe(sent);
      reads.open();
      while (sent < 5 && service.count("ReadRows") === sent) await turn();
    }
    reads.open();
    expect((await Promise.all(pages)).length).toBe(5);
    expect(reads.most()).toBe(2);
  });
});

describe("a request that waits for a free slot", () => {
  it("ends by its deadline or its signal without being sent, and leaves its place to the next", async () => {
    const inFlight = new InFlight(1);
    const ended: string[] = [];
    const begin = (name: string, call: { readonly deadlineMs: number; readonly signal?: AbortSignal }) =>
      inFlight.begin(
        call,
        () => ended.push(`${name} sent`),
        (error) => ended.push(`${name} ${error.code} ${error.details}`),
      );
    const controller = new AbortController();
    begin("a", { deadlineMs: 60_000 });
    begin("b", { deadlineMs: 1 });
    begin("c", { deadlineMs: 60_000, signal: controller.signal });
    begin("d", { deadlineMs: 60_000 });
    begin("e", { deadlineMs: 60_000 });
    controller.abort();
    begin("f", { deadlineMs: 60_000, signal: controller.signal });
    while (ended.length < 4) await turn();
    const late = `not sent: 1 requests of this process were in flight for 1 ms; raise \`maxInFlight\``;
    const gaveUp = `${status.CANCELLED} not sent: the caller cancelled it`;
    expect(ended).toEqual(["a sent", `c ${gaveUp}`, `f ${gaveUp}`, `b ${status.DEADLINE_EXCEEDED} ${late}`]);
    inFlight.end();
    expect(ended.slice(4)).toEqual(["d sent"]);
    inFlight.close();
    expect(ended.slice(5)).toEqual([`e ${status.CANCELLED} not sent: the store was closed`]);
    inFlight.end();
    begin("g", { deadlineMs: 60_000 });
    expect(ended.slice(6)).toEqual(["g sent"]);
  });
});
