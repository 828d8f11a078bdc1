import { expect, onTestFinished, test, vi } from "vitest";
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

test("calls that throw keep no others from running, and their errors are not lost", async () => {
  const controller = new AbortController();
  const ran: string[] = [];
  const errors: string[] = [];
  // Vitest's own listeners would make the run fail.
  const others = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  const listener = ({ message }: Error) => errors.push(message);
  process.on("uncaughtException", listener);
  onTestFinished(() => {
    process.removeListener("uncaughtException", listener);
    for (const other of others) process.on("uncaughtException", other);
  });
  for (const name of ["first", "second"]) {
    onAbort(controller.signal, () => {
      throw new Error(name);
    });
    onAbort(controller.signal, () => ran.push(`after the ${name}`));
  }
  controller.abort();
  expect(ran).toEqual(["after the first", "after the second"]);
  await vi.waitUntil(() => errors.length === 2);
  expect(errors).toEqual(["first", "second"]);
});
