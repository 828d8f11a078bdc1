import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { packContents } from "../contents.js";
import { describePage } from "../derive.js";
import { describeInThisThread } from "./extract.js";

const packed = (text: string) =>
  packContents({ contentType: "text/html", body: Buffer.from(`<title>T</title>${text}`) });
const short = packed("one");
const long = packed(Array.from({ length: 400_000 }, (_, index) => `word${index % 1_000}`).join(" "));
const url = "https://example.org/";

describe("a long page", () => {
  test("is described as at once, while short pages and timers go on", async () => {
    const describePages = describeInThisThread();
    const { signal } = new AbortController();
    const ended: string[] = [];
    const first = Promise.resolve(describePages(long, url, { signal })).then((page) => {
      ended.push("long");
      return page;
    });
    expect(describePages(short, url, { signal })).toEqual(describePage(short, url));
    await new Promise(setImmediate);
    ended.push("timer");
    expect((await first).words === describePage(long, url).words).toBe(true);
    expect(ended).toEqual(["timer", "long"]);
  });

  test("waits for the one before it, also if that one was cancelled", async () => {
    const describePages = describeInThisThread();
    const cancelled = new AbortController();
    const { signal } = new AbortController();
    const ended: string[] = [];
    const note = (name: string) => () => void ended.push(name);
    const first = Promise.resolve(describePages(long, url, { signal: cancelled.signal })).catch(
      note("first"),
    );
    const second = Promise.resolve(describePages(long, url, { signal })).then(note("second"));
    const third = Promise.resolve(describePages(long, url, { signal })).then(note("third"));
    await pause(0);
    cancelled.abort(new Error("enough"));
    await Promise.all([first, second, third]);
    expect(ended).toEqual(["first", "second", "third"]);
  });
});
