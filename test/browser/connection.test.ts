import { open, table, text } from "percolatordb";
import { serveDashboard } from "percolatordb/dashboard";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { serveFixture } from "../../web/testing/fixture-server.js";
import { openPage } from "./support/browser.js";
import { inventAnswers } from "./support/invented.js";

/** What a page does when its server stops, is another one, or is not looked at. */

const invented = inventAnswers();

const live = (page: Page) => page.locator("[data-connection=live]").waitFor();

test("a server that is stopped and keeps its connections is lost, until it goes on", async () => {
  const { page, close } = await openPage(invented.browser, "about:blank");
  await page.clock.install();
  await page.goto(`${invented.server.url}#/overview`);
  await live(page);
  invented.server.mute(true);
  await page.clock.fastForward(16_000);
  await page.locator(".banner", { hasText: "The server has sent nothing for 15 s." }).waitFor();
  invented.server.mute(false);
  await page.clock.fastForward(16_000);
  await live(page);
  await close();
});

/** Shows or hides a page as another tab in front of it does. */
const setHidden = (page: Page, isHidden: boolean) =>
  page.evaluate(
    `Object.defineProperty(document, "hidden", { get: () => ${isHidden}, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"))`,
  );

test("a hidden page holds no connection, and is up to date when it is shown again", async () => {
  const { page, wrongs, close } = await openPage(invented.browser, `${invented.server.url}#/overview`);
  await live(page);
  expect(invented.server.viewers).toBe(1);
  await setHidden(page, true);
  await expect.poll(() => invented.server.viewers).toBe(0);
  const asked = page.waitForRequest("**/api/about");
  await setHidden(page, false);
  await live(page);
  await asked;
  expect(invented.server.viewers).toBe(1);
  await close();
  expect(wrongs).toEqual([]);
});

test("a hidden page does not ask for the last hour", async () => {
  const { page, close } = await openPage(invented.browser, "about:blank");
  await page.clock.install();
  const first = page.waitForResponse("**/api/past");
  await page.goto(`${invented.server.url}#/overview`);
  await live(page);
  await (await first).finished();
  const asked: string[] = [];
  page.on("request", (request) => {
    if (request.url().includes("api/past")) asked.push(request.url());
  });
  await setHidden(page, true);
  await page.clock.fastForward(60_000);
  expect(asked).toEqual([]);
  await setHidden(page, false);
  await expect.poll(() => asked.length).toBeGreaterThan(0);
  await close();
});

test("a page whose stream a proxy holds back asks for everything again after the server was away", async () => {
  const { page, close } = await openPage(invented.browser, "about:blank");
  await page.route("**/api/stream", (route) => route.abort());
  await page.goto(`${invented.server.url}#/data?table=documents`);
  await page.locator("[data-connection=polling]").waitFor();
  await page.locator(".data-rows").waitFor();
  invented.server.cut(true);
  await page.locator("[data-connection=lost]").waitFor();
  // The first request after that fails, as with a server that is still starting.
  await page.route("**/api/about", (route) => route.abort(), { times: 1 });
  const rows = page.waitForRequest("**/api/rows?*");
  const about = page.waitForResponse("**/api/about");
  invented.server.cut(false);
  await rows;
  expect((await about).status()).toBe(200);
  await close();
});

test("a server that is restarted with another database is shown as that one, with its rows", async () => {
  const notes = table("notes", { body: text() });
  const serve = async (location: string, port: number) => {
    const db = await open("memory:", { tables: [notes] });
    await db.transact((tx) => tx.set(notes.body, location, "here"));
    const dashboard = await serveDashboard(db, { location, port, pages: invented.pages.path });
    const stop = async () => {
      await dashboard.close();
      await db.close();
    };
    return { url: dashboard.url, stop };
  };
  const first = await serve("first", 0);
  const { page, close } = await openPage(invented.browser, `${first.url}#/data?table=notes`);
  const shown = (name: string) => page.locator(".data-rows").getByText(name, { exact: true });
  await shown("first").waitFor();
  await live(page);
  await first.stop();
  const second = await serve("second", Number(new URL(first.url).port));
  await page.locator(".where-location", { hasText: "second" }).waitFor();
  await shown("second").waitFor();
  await close();
  await second.stop();
});

test("a retry whose connection breaks says how many changes were done before", async () => {
  const writable = await serveFixture({ pages: invented.pages.path, writable: true });
  const { page, close } = await openPage(invented.browser, `${writable.url}#/failures`);
  writable.breakActions(true);
  await page
    .getByRole("button", { name: /^Retry \d+/ })
    .first()
    .click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Retry all" }).click();
  await dialog.getByRole("alert").waitFor();
  expect((await dialog.getByRole("alert").textContent())?.trim()).toBe(
    "The dashboard's server does not answer. Before that: 3 changes are due again.",
  );
  await close();
  await writable.close();
});
