import { expect, it } from "vitest";
import { LendingStore } from "../../test/support/lending-store.js";
import { memoryStore } from "../store/memory/index.js";
import { addMark, readMarks } from "./marks.js";

it("marks are read before their bytes are used for another read", async () => {
  const store = new LendingStore(memoryStore());
  await addMark(store, "place", "first", []);
  await addMark(store, "place", "second", await readMarks(store, "place"));
  expect(await readMarks(store, "place")).toEqual(["second", "first"]);
});
