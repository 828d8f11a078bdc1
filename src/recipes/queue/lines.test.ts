import fc from "fast-check";
import { expect, test } from "vitest";
import { gather } from "../../../test/support/gather.js";
import { linesOf } from "./lines.js";

async function* cut(text: string, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

test("only newlines end lines, however the text is split into chunks", async () => {
  const line = fc.array(fc.constantFrom("a", "é", "\u2028", "\u2029", "\r", "\u0085"), { maxLength: 6 });
  const divided = fc.asyncProperty(
    fc.array(line, { minLength: 1, maxLength: 5 }),
    fc.integer({ min: 1, max: 9 }),
    async (parts, size) => {
      const lines = parts.map((each) => each.join(""));
      expect(await gather(linesOf(cut(lines.join("\n"), size)))).toEqual(lines);
    },
  );
  await fc.assert(divided, { numRuns: 50 });
});
