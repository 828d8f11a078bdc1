import { describe, expect, it } from "vitest";
import { type Block, decodeBlock, encodeBlock, inOrder, updateBlock } from "./block.js";
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
    const inBytes = [...block.keys()].map((id) => Buffer.from(id, "base64url")).sort(Buffer.compare);
    expect([...decoded.keys()]).toEqual(inBytes.map((id) => id.toString("base64url")));
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

  it("with changes applied has the same bytes as if it were encoded with them", () => {
    const random = seeded(2);
    const pick = () => pageId(`https://example.org/${random(60)}`).text;
    const counts = (): Counts => [random(300), random(2) * random(300), random(2) * random(300)];
    let stored: Uint8Array | undefined;
    const expected: Block = new Map();
    for (let step = 0; step < 300; step++) {
      const changes = new Map<string, Counts | undefined>();
      for (let each = random(8); each > 0; each--)
        changes.set(pick(), random(2) === 0 ? undefined : counts());
      for (const [id, now] of changes) {
        if (now === undefined) expected.delete(id);
        else expected.set(id, now);
      }
      const sorted = [...changes].map(([id, now]) => ({ id: Buffer.from(id, "base64url"), counts: now }));
      stored = updateBlock(stored, sorted.sort(inOrder));
      expect(stored).toEqual(encodeBlock(expected));
    }
  });

  it("takes nine bytes for a page that has a term only in its text", () => {
    expect(encodeBlock(new Map([[pageId("x").text, [31, 0, 0] as Counts]]))).toHaveLength(9);
  });

  it.each([0, 1, 31, 32, 127, 128, 16_383, 16_384, 2 ** 31, 2 ** 32 - 1])("holds a count of %i", (count) => {
    const id = pageId("x").text;
    expect(decodeBlock(encodeBlock(new Map([[id, [count, 0, count]]]))).get(id)).toEqual([count, 0, count]);
  });
});
