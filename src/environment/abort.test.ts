import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { collectGarbage } from "../../test/support/garbage.js";
import { TimeoutError } from "../errors/index.js";
import { abortError, onAbort, throwIfAborted, underSignals } from "./index.js";

const aborted = (signal: AbortSignal) =>
  new Promise<unknown>((resolve) => signal.addEventListener("abort", () => resolve(signal.reason)));

describe("work under several signals", () => {
  test("ends when any of them is aborted, with its reason", async () => {
    const [one, other] = [new AbortController(), new AbortController()];
    const reason = underSignals([one.signal, undefined, other.signal], aborted);
    other.abort("enough");
    one.abort("too late");
    expect(await reason).toBe("enough");
  });

  test("ends at once if one was aborted before", async () => {
    const use = async ({ aborted, reason }: AbortSignal) => [aborted, reason];
    const signals = [new AbortController().signal, AbortSignal.abort("before")];
    expect(await underSignals(signals, use)).toEqual([true, "before"]);
  });

  test("ends with a timeout to which no other reference exists", async () => {
    const reason = underSignals([new AbortController().signal, AbortSignal.timeout(20)], aborted);
    collectGarbage();
    expect(await reason).toMatchObject({ name: "TimeoutError" });
  });

  test("leaves no listener at a signal after its end", async () => {
    const { signal } = new AbortController();
    expect(await underSignals([signal], async () => getEventListeners(signal, "abort").length)).toBe(1);
    await expect(underSignals([signal], () => Promise.reject(new Error("failed")))).rejects.toThrow("failed");
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});

test("abortError keeps our own errors, makes a deadline a TimeoutError, and anything else an AbortedError", () => {
  const own = new TimeoutError("mine");
  expect(abortError(AbortSignal.abort(own), "It")).toBe(own);
  const deadline = new DOMException("late", "TimeoutError");
  expect(abortError(AbortSignal.abort(deadline), "It")).toBeInstanceOf(TimeoutError);
  expect(abortError(AbortSignal.abort("why"), "It")).toMatchObject({
    code: "ABORTED",
    cause: "why",
  });
  expect(() => throwIfAborted(undefined, "It")).not.toThrow();
});

test("onAbort gives a signal one listener for any number of calls, and calls each of them once", () => {
  const controller = new AbortController();
  const { signal } = controller;
  const called: number[] = [];
  const run = () => called.push(0);
  const stops = [onAbort(signal, run), onAbort(signal, run), onAbort(signal, () => called.push(1))];
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
  stops[0]!();
  stops[0]!();
  const late: number[] = [];
  onAbort(signal, () => {
    // What is added during the abort is too late.
    onAbort(signal, () => late.push(2));
    stops[2]!();
  });
  controller.abort();
  expect(called).toEqual([0, 1]);
  expect(late).toEqual([]);
  const other = new AbortController();
  const stopBoth = [1, 2].map(() => onAbort(other.signal, run));
  for (const stop of stopBoth) stop();
  expect(getEventListeners(other.signal, "abort")).toEqual([]);
  other.abort();
  expect(called).toEqual([0, 1]);
});
