import { expect, it } from "vitest";
import { openTest } from "../../../test/support/observer/context.js";
import { LoadError } from "../../errors/index.js";
import { loadStateCell, publishedState } from "../../transaction/index.js";
import { encodeLoadState } from "../registry/load-record.js";
import { Ownership } from "./ownership.js";
import { begin, forget, isPublished } from "./registered-load.js";

const ranges = [{ table: "documents", start: undefined, end: undefined }];

it("a call that was taken over does not forget the load, whose new owner may have stored rows", async () => {
  const db = await openTest();
  const { record } = await begin(db.registry, "first", ranges, undefined);
  const [first, second] = [1, 2].map(() => new Ownership(db.registry, record.start, "first"));
  await first!.take(undefined);
  await first!.release();
  await second!.take(undefined);
  await expect(forget(db.registry, first!)).rejects.toBeInstanceOf(LoadError);
  expect((await db.registry.reload()).loadRecords).toMatchObject([{ name: "first", state: "loading" }]);
  await forget(db.registry, second!);
  expect((await db.registry.reload()).loadRecords).toEqual([]);
  await db.close();
});

it("a call that has become the owner learns what the owner before has done", async () => {
  const db = await openTest();
  const { record } = await begin(db.registry, "first", ranges, undefined);
  const change = (value: Buffer) =>
    db.registry.change(async (tx) => {
      tx.write({ ...loadStateCell(record.start), value });
      return true;
    });
  expect(await isPublished(db.registry, record)).toBe(false);
  await change(publishedState);
  expect(await isPublished(db.registry, record)).toBe(true);
  await change(encodeLoadState("discarding"));
  await expect(isPublished(db.registry, record)).rejects.toThrow(/is being discarded/);
  const ownership = new Ownership(db.registry, record.start, "first");
  await ownership.take(undefined);
  await forget(db.registry, ownership);
  await expect(isPublished(db.registry, record)).rejects.toThrow(/was discarded/);
  await db.close();
});
