import { join } from "node:path";
import { family, int, open, signal, table, text, tuple } from "percolatordb";
import { serveDashboard } from "percolatordb/dashboard";
import { expect, test } from "vitest";
import { CommandLine } from "../support/command-line.js";
import { openPage } from "./support/browser.js";
import { inventAnswers } from "./support/invented.js";

/** The Data view of real databases: the commands that it shows, and rows of any key that change at any time. */

const invented = inventAnswers();

const notes = table("notes", { body: text() });
const counters = table("counters", { n: int() });
const visits = table("visits", { n: int() }, { key: tuple(text(), int()) });
const days = table("days", { n: int() }, { key: tuple(int(), text()) });

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test("the command prints what the view shows: at a time, on page 2, with the beginning of a composite key", async () => {
  const cli = await CommandLine.create();
  const tables = [notes, visits, days];
  const db = await open(join(cli.folder, "data"), { tables, collectEveryMs: 0 });
  await db.transact((tx) => {
    for (let n = 0; n < 60; n++) tx.set(notes.body, `r${String(n).padStart(2, "0")}`, "x");
    for (const place of ["bergen", "oslo"]) tx.set(visits.n, [place, 1], 1);
    for (const day of [1, 2]) tx.set(days.n, [day, "a"], 1);
  });
  const snapshot = await db.snapshot();
  const at = Math.ceil(snapshot.timestamp / 1_000) + 1;
  await snapshot.close();
  while (Date.now() <= at) await pause(1);
  await db.transact((tx) => tx.set(notes.body, "r00a", "later"));
  const dashboard = await serveDashboard(db, { location: "./data", pages: invented.pages.path });
  const shownAt = async (hash: string) => {
    const { page, close } = await openPage(invented.browser, `${dashboard.url}#/data?${hash}`);
    const rows = page.locator(".data-rows tbody tr");
    await rows.first().waitFor();
    const line = (await page.locator(".command code").textContent())!;
    const keys = await rows.evaluateAll((all) => all.map((row) => row.querySelector("a")!.textContent));
    const note = await page.locator(".command-note").count();
    await close();
    return { line, keys, note };
  };
  // The slider and the date field put milliseconds into the address.
  const past = await shownAt(`table=notes&at=${at}`);
  const second = await shownAt("table=notes&after=r48");
  const day = await shownAt("table=days&prefix=2");
  const place = await shownAt("table=visits&prefix=os");
  await dashboard.close();
  await db.close();
  const printed = async (line: string) => {
    const [, ...words] = line.replaceAll("'", "").split(" ");
    const { code, stderr, documents } = await cli.run([...words, "--json"]);
    const keys = documents.map(({ row }) => /^\["?(\w+)/.exec(String(row))?.[1] ?? row);
    return { code, stderr, keys };
  };
  expect(past.keys).toHaveLength(50);
  for (const { line, keys } of [past, second, day])
    expect(await printed(line)).toEqual({ code: 0, stderr: "", keys });
  expect([day.keys, day.note, place.keys, place.note]).toEqual([["2"], 0, ["oslo"], 1]);
  expect(await printed(place.line)).toEqual({ code: 0, stderr: "", keys: ["bergen", "oslo"] });
});

test("the row with the empty key can be opened", async () => {
  await using db = await open("memory:", { tables: [notes], collectEveryMs: 0 });
  await db.transact((tx) => tx.set(notes.body, "", "the value"));
  await using dashboard = await serveDashboard(db, { pages: invented.pages.path });
  const { page, close } = await openPage(invented.browser, `${dashboard.url}#/data?table=notes`);
  await page.getByText("empty key").click();
  await page.locator(".row-panel").getByText("the value").waitFor();
  await close();
});

test("an empty key is named wherever it stands for its row", async () => {
  await using db = await open("memory:", { tables: [notes, visits], collectEveryMs: 0 });
  await using dashboard = await serveDashboard(db, { pages: invented.pages.path });
  await db.transact((tx) => {
    tx.set(notes.body, "", "the value");
    tx.set(visits.n, ["", 1], 1);
  });
  const { page, close } = await openPage(invented.browser, `${dashboard.url}#/transactions`);
  await page.locator("[data-row]").first().click();
  await page.locator(".cell-link", { hasText: "notes.body" }).first().getByText("empty key").click();
  await page.locator(".row-panel").getByText("the value").waitFor();
  await page.goto(`${dashboard.url}#/data?table=visits`);
  await page.locator("[data-row]", { hasText: '""' }).click();
  await page.locator(".row-panel").waitFor();
  await close();
});

test("only a cell has a history: a family, a signal and a whole row have none", async () => {
  const boxes = table("boxes", { body: text(), marks: family(text()), poke: signal() });
  await using db = await open("memory:", { tables: [boxes], collectEveryMs: 0 });
  await db.transact((tx) => {
    tx.set(boxes.body, "a", "the value");
    tx.set(boxes.marks.at("x:y"), "a", "the mark");
  });
  await using dashboard = await serveDashboard(db, { pages: invented.pages.path });
  const { page, close } = await openPage(invented.browser, "about:blank");
  for (const [cell, has] of Object.entries({ body: 1, "marks:x:y": 1, marks: 0, poke: 0, "*": 0 })) {
    await page.goto(`${dashboard.url}#/data?table=boxes&row=a&cell=${cell}`);
    await page.reload();
    await page.locator(".row-panel").getByText("the mark").waitFor();
    expect(await page.locator(".row-panel .tabs").getByText("History").count(), cell).toBe(has);
  }
  await page.goto(`${dashboard.url}#/data?table=boxes&row=a&cell=marks:x:y&show=history`);
  await page.locator(".versions").getByText("the mark").waitFor();
  await close();
});

test("a row that changes faster than it can be read is shown", async () => {
  await using db = await open("memory:", { tables: [counters], collectEveryMs: 0 });
  let n = 0;
  const count = () => db.transact((tx) => tx.set(counters.n, "hot", ++n));
  await count();
  await using dashboard = await serveDashboard(db, { pages: invented.pages.path });
  const { page, close } = await openPage(invented.browser, "about:blank");
  await page.route(/api\/row\?/, async (route) => {
    await count();
    await pause(600);
    await route.continue().catch(() => undefined);
  });
  await page.goto(`${dashboard.url}#/data?table=counters&row=hot`);
  await page.locator(".row-panel .cells").waitFor();
  await close();
});

test("a tab stays with its table when another tab shows another one", async () => {
  const { page, close } = await openPage(invented.browser, `${invented.server.url}#/data`);
  await page.locator(".data-rows").waitFor();
  const chosen = await page.getByLabel("Table").inputValue();
  await expect.poll(() => page.url()).toContain(`table=${chosen}`);
  await close();
});
