import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openPage, startBrowser } from "../browser/support/browser.js";
import { storyOf } from "../docs/story.js";
import { NetworkProxy } from "../support/proxy/index.js";
import { Packed, root } from "./packed.js";
import { type SecondTerminal, Terminal } from "./support/terminal.js";

/**
 * docs/live-applications.md from its first block to its last, in a fresh folder, with the package as
 * npm packs it. Two windows of a browser are open meanwhile, and one of them is offline for a time.
 */

const page = "docs/live-applications.md";
const address = "127.0.0.1:3000";

let packed: Packed;
let browser: Browser;
beforeAll(async () => {
  packed = await Packed.create();
  browser = await startBrowser();
}, 600_000);
afterAll(async () => {
  await browser?.close();
  await packed?.remove();
});

const products = (window: Page) => window.locator("#products tr").allTextContents();
const last = (window: Page) => window.locator("#last li").allTextContents();

test(`${page}: pages follow orders, also those that they have missed`, async () => {
  const terminal = new Terminal(packed);
  // The other window's way to the server.
  const network = await NetworkProxy.start(address);
  const opened: Awaited<ReturnType<typeof openPage>>[] = [];
  let second: SecondTerminal | undefined;
  let runs = 0;
  try {
    for (const step of storyOf(await readFile(join(root, page), "utf8"))) {
      const isStart = step.type === "start";
      const isStop = step.type === "stop";
      if (isStop)
        await useForm(
          opened.map((each) => each.page),
          network,
        );
      second = await terminal.take(step, second);
      if (isStart) {
        for (const server of [address, network.address])
          opened.push(await openPage(browser, `http://${server}/`));
      }
      if (step.type !== "run" || opened.length === 0) continue;
      runs++;
      await check(
        runs,
        opened.map((each) => each.page),
        network,
      );
    }
    expect(runs).toBe(3);
    expect(opened.flatMap(({ wrongs }) => wrongs.filter((wrong) => !/ERR_/.test(wrong)))).toEqual([]);
  } finally {
    second?.kill();
    for (const each of opened) await each.close();
    await network.close();
  }
}, 600_000);

/** What both windows show after each command of the page. */
async function check(run: number, [one, other]: readonly Page[], network: NetworkProxy): Promise<void> {
  const shown: Readonly<Record<number, readonly string[]>> = {
    1: ["rice: 1 sold, 200 cents", "tea: 2 sold, 500 cents"],
    2: ["rice: 1 sold, 250 cents", "tea: 2 sold, 500 cents"],
    3: ["rice: 2 sold, 350 cents", "tea: 2 sold, 500 cents"],
  };
  await expect.poll(() => products(one!)).toEqual(shown[run]);
  if (run === 1) await expect.poll(() => products(other!)).toEqual(shown[run]);
  if (run !== 1) return;
  // The other window is offline for the rest of the story, and comes back at its end.
  network.refuse();
  network.cut();
  await expect.poll(() => other!.locator("#state").textContent()).toBe("waiting");
}

/** An order by the page's own form. Then the other window is online again, and has missed nothing. */
async function useForm([one, other]: readonly Page[], network: NetworkProxy): Promise<void> {
  expect(await products(other!)).toEqual(["rice: 1 sold, 200 cents", "tea: 2 sold, 500 cents"]);
  await one!.getByRole("button").click();
  const all = ["rice: 2 sold, 350 cents", "tea: 3 sold, 950 cents"];
  await expect.poll(() => products(one!)).toEqual(all);
  network.heal();
  await expect.poll(() => products(other!)).toEqual(all);
  expect(await last(other!)).toEqual([
    "tea, 450 cents",
    "rice, 100 cents",
    "tea, 50 cents",
    "rice, 250 cents",
    "tea, 450 cents",
  ]);
  await expect.poll(() => other!.locator("#state").textContent()).toBe("open");
}
