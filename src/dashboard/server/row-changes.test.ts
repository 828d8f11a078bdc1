import { EventEmitter, getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { endedBy } from "./row-changes.js";
import type { AppContext } from "./until-gone.js";

const asked = (outgoing: EventEmitter) =>
  ({ req: { raw: new Request("http://localhost/") }, env: { outgoing } }) as unknown as AppContext;

test("an answer that has ended leaves no listener on the signal of the dashboard", () => {
  const { signal } = new AbortController();
  const outgoing = new EventEmitter();
  const request = endedBy(asked(outgoing), signal);
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
  outgoing.emit("close");
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
  expect(request.signal.aborted).toBe(true);
});

test("an answer ends when the dashboard is closed", () => {
  const closing = new AbortController();
  const request = endedBy(asked(new EventEmitter()), closing.signal);
  closing.abort();
  expect(request.signal.aborted).toBe(true);
});
