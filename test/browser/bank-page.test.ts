import { open } from "percolatordb";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { audit } from "../../examples/bank/audit.js";
import { serveBank } from "../../examples/bank/serve.js";
import { cash, tables } from "../../examples/bank/tables.js";
import { transfer } from "../../examples/bank/transfer.js";
import { NetworkProxy } from "../support/proxy/index.js";
import { openPage, startBrowser } from "./support/browser.js";

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
});

/** What the browser itself says of a connection that was lost. No program can keep it from doing so. */
const isLostConnection = (wrong: string) => /net::ERR_/.test(wrong);

test("the audit changes with each transfer, also with those that it has missed", async () => {
  await using db = await open("memory:", { tables, observers: [audit], durability: "none" });
  const pay = (id: string, from: string, to: string, amount: number) =>
    db.transact((tx) => transfer(tx, id, { from, to, amount }));
  await pay("1", cash, "Bob", 10);
  await db.drain();
  await using server = await serveBank(db, { port: 0, account: "Bob" });
  const network = await NetworkProxy.start(new URL(server.url).host);
  const { page, wrongs, close } = await openPage(browser, `http://${network.address}/`);
  try {
    const rows = (id: string) => page.locator(`#${id} tr`).allTextContents();
    const text = (id: string) => page.locator(`#${id}`).textContent();
    await expect.poll(() => rows("balances")).toEqual(["Bob$10", "cash$-10"]);
    expect(await text("sum")).toBe("The 2 balances add up to $0.");
    expect(await rows("lines")).toEqual(["1$10"]);
    expect(await text("state")).toBe("Live.");

    await pay("2", "Bob", "Joe <b>", 7);
    await expect.poll(() => rows("balances")).toEqual(["Bob$3", "Joe <b>$7", "cash$-10"]);
    await expect.poll(() => text("waiting")).toBe("$-7 of its balance is not in the trail yet.");
    await db.drain();
    await expect.poll(() => rows("lines")).toEqual(["2$-7", "1$10"]);
    expect(wrongs).toEqual([]);

    network.refuse();
    network.cut();
    await expect.poll(() => text("state")).toBe("The connection is lost. Trying again.");
    await pay("3", cash, "Bob", 5);
    network.heal();
    await expect.poll(() => rows("balances")).toEqual(["Bob$8", "Joe <b>$7", "cash$-15"]);

    await page.getByRole("link", { name: "Joe" }).click();
    await expect.poll(() => text("account")).toBe("The trail of Joe <b>");
    await expect.poll(() => rows("lines")).toEqual(["2$7"]);
    expect(wrongs.filter((wrong) => !isLostConnection(wrong))).toEqual([]);
  } finally {
    await close();
    await network.close();
  }
});
