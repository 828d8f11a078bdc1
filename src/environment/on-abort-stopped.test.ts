import { expect, test } from "vitest";
import { onAbort } from "./index.js";

test("a call that another one stops during the abort does not run", () => {
  const controller = new AbortController();
  const ran: string[] = [];
  let stopSecond = () => {};
  onAbort(controller.signal, () => {
    ran.push("first");
    stopSecond();
  });
  stopSecond = onAbort(controller.signal, () => ran.push("second"));
  controller.abort();
  expect(ran).toEqual(["first"]); // as with removeEventListener
});
