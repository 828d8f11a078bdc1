import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Change, type StoreName } from "./change.js";
import { Draft } from "./draft.js";
import { PendingChanges } from "./pending.js";
import { SlabMemory } from "./slab.js";

const memory = new SlabMemory();

/** A change of record `name`. Keys with the same `sum` share a slot. */
function change(name: string, sum: number, store: StoreName = "cells"): Change {
  memory.reserve(64);
  const { slab, used } = memory;
  const length = slab.write(name, used);
  memory.used += length;
  return new Change(store, slab, used, length, sum, sum);
}

const newDraft = () => new Draft({ counter: 0, writer: 0, group: 0 });
const ignore = () => undefined;

function add(pending: PendingChanges, changes: readonly Change[], draft = newDraft()): Draft {
  draft.add(changes);
  pending.add(draft, changes);
  return draft;
}

describe("pending changes", () => {
  it("are found by key, the newest first, while drafts come and are forgotten in order", () => {
    const record = fc.record({
      store: fc.constantFrom<StoreName>("cells", "versions"),
      name: fc.constantFrom("a", "b", "aa"),
      sum: fc.constantFrom(0, 1, 1_024, -1),
    });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.array(record, { maxLength: 8 }), fc.boolean()), { maxLength: 12 }),
        // More changes than there are slots, so that the slots are made again in between.
        fc.constantFrom(0, 700, 1_500),
        (drafts, others) => {
          const pending = new PendingChanges();
          let filler = Array.from({ length: others }, (_, i) => change(`filler ${i}`, i));
          let expected: { readonly draft: Draft; readonly changes: readonly Change[] }[] = [];
          for (const [records, forgets] of drafts) {
            const changes = records.map(({ store, name, sum }) => change(name, sum, store));
            expected.push({ draft: add(pending, changes), changes });
            if (expected.length === 2) {
              expected.push({ draft: add(pending, filler), changes: filler });
              filler = [];
            }
            if (forgets) {
              const until = Math.ceil(expected.length / 2);
              pending.forget(expected[until - 1]!.draft, ignore);
              expected = expected.slice(until);
            }
            const all = expected.flatMap((each) => each.changes);
            expect(pending.hasEntries).toBe(all.some((each) => each.store === "cells"));
            for (const store of ["cells", "versions"] as const) {
              for (const name of ["a", "b", "aa"]) {
                for (const sum of [0, 1, 1_024, -1]) {
                  const probe = change(name, sum, store);
                  const found = pending.find(store, sum, probe.bytes, probe.start, probe.length);
                  const newest = all.findLast(
                    (each) => each.store === store && each.sum === sum && nameOf(each) === name,
                  );
                  expect(found).toBe(newest);
                }
              }
            }
            for (const sum of [0, 1, 1_024, -1])
              expect(pending.mayHaveHistory(sum)).toBe(
                all.some((each) => each.store === "versions" && each.sum === sum),
              );
          }
        },
      ),
    );
  });

  it("keep one change for a record that one draft changes often", () => {
    const pending = new PendingChanges();
    const draft = newDraft();
    const changes = [1, 2, 3].map(() => change("hot", 5));
    for (const each of changes) add(pending, [each], draft);
    expect(changes[2]!.below).toBeUndefined();
    pending.forget(draft, ignore);
    expect(pending.hasEntries).toBe(false);
  });
});

function nameOf({ bytes, start, length }: Change): string {
  return bytes.toString("utf8", start, start + length);
}

describe("slabs", () => {
  it("are used again once no draft has changes in them, except the one that is being filled", () => {
    const slabs = new SlabMemory();
    slabs.reserve(1);
    const first = slabs.slab;
    slabs.used = first.length;
    slabs.mark();
    slabs.release(first);
    slabs.reserve(1);
    const second = slabs.slab;
    expect(second).not.toBe(first);
    slabs.mark();
    slabs.release(first);
    slabs.used = second.length;
    slabs.reserve(1);
    expect(slabs.slab).toBe(first);
    expect(slabs.used).toBe(0);
  });

  it("count each draft once", () => {
    const draft = newDraft();
    const one = change("a", 1);
    const before = one.bytes.drafts;
    draft.add([one, change("b", 2)]);
    draft.add([one]);
    expect(one.bytes.drafts).toBe(before + 1);
    expect(draft.slabs).toEqual([one.bytes]);
  });
});
