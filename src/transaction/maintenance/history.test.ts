import { expect, test, vi } from "vitest";
import { DistantTestStore, distantContext } from "../../../test/support/distant-store.js";
import { table, text } from "../../schema/index.js";
import { StepHooks } from "../../testing/index.js";
import { transact } from "../transact.js";
import { history } from "./history.js";

const pages = table("pages", { body: text() });
/** Too long for a write record, so it is in a data cell. */
const long = (text: string) => text.padEnd(1_000, ".");

test("the newest versions are read without the others, also if a transaction under way hides one", async () => {
  const store = new DistantTestStore();
  const hooks = new StepHooks();
  const context = distantContext(store, hooks);
  for (let index = 0; index < 50; index++) {
    await transact(context, (tx) => tx.set(pages.body, "a", long(`version ${index}`)));
  }
  await context.background.settled();
  const read = vi.spyOn(store, "readRaw");
  const newest = async (limit: number) =>
    (await history(context, pages.body, "a", { limit })).map(({ value }) => value);
  const expected = [49, 48, 47].map((index) => long(`version ${index}`));
  expect(await newest(3)).toEqual(expected);
  expect(read.mock.calls.map(([{ versions }]) => versions)).toEqual([3]);

  const pause = hooks.pauseBefore("commit-primary");
  const writing = transact(context, (tx) => tx.set(pages.body, "a", long("not yet")));
  await pause.reached;
  expect(await newest(3)).toEqual(expected);
  pause.resume();
  await writing;
  expect(await newest(1)).toEqual([long("not yet")]);
  expect(await history(context, pages.body, "a")).toHaveLength(51);
});
