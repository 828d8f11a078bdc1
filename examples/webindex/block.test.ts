import { describe, expect, it } from "vitest";
import { type Block, decodeBlock, encodeBlock } from "./block.js";
import { pageId } from "./identity.js";
import type { Counts } from "./terms.js";
import { seeded } from "./testing/site.js";

describe("a block", () => {
  it("decodes to the encoded block, ordered by id, for any counts", () => {
    const random = seeded(1);
    const block: Block = new Map();
    for (let index = 0; index < 500; index++) {
      const count = () => random(10) ** random(10);
      block.set(pageId(`https://example.org/${index}`).text, [count(), count(), count()]);
    }
    const decoded = decodeBlock(encodeBlock(block));
    expect(new Map(decoded)).toEqual(block);
    expect([...decoded.keys()]).toEqual([...block.keys()].sort());
  });

  it("has the same bytes whatever the order of insertion", () => {
    const ids = ["a", "b", "c"].map((url) => pageId(url).text);
    const forward: Block = new Map(ids.map((id) => [id, [1, 0, 128] as Counts]));
    const backward: Block = new Map([...ids].reverse().map((id) => [id, [1, 0, 128] as Counts]));
    expect(encodeBlock(forward)).toEqual(encodeBlock(backward));
  });

  it("is not stored if it is empty", () => {
    expect(encodeBlock(new Map())).toBeUndefined();
    expect(decodeBlock(undefined).size).toBe(0);
  });

  it.each([0, 1, 127, 128, 16_383, 16_384, 2 ** 31, 2 ** 35 - 1])("holds a count of %i", (count) => {
    const id = pageId("x").text;
    expect(decodeBlock(encodeBlock(new Map([[id, [count, 0, count]]]))).get(id)).toEqual([count, 0, count]);
  });
});
