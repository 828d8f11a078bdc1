import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { streamInput } from "./import-input.js";

test("a read does not wait for a stream if the signal came before", async () => {
  const reading = streamInput(new PassThrough()).text(AbortSignal.abort());
  await expect(reading[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: "ABORTED" });
});
