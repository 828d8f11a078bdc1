import { join } from "node:path";
import { openPage, startBrowser } from "../../test/browser/support/browser.js";
import { pause } from "../harness/pause.js";
import { sayProgress } from "../harness/program.js";

/** What a picture shows: an address within the pages, and what must be there first. */
const views: Readonly<Record<string, readonly [hash: string, shows: string]>> = {
  overview: ["overview", "[data-observer]"],
  pipeline: ["pipeline", ".node.observer"],
  data: ["data?table=orders&prefix=oslo", ".data-rows [data-row]"],
  carts: ["data?table=carts", ".expiry"],
  internal: ["pipeline?internal=1", ".node.observer"],
  row: ["data?table=orders&row=%5B%22oslo%22%2C1%5D&cell=placed&show=history", ".versions"],
  transactions: ["transactions", "table.transactions [data-row]"],
  slow: ["transactions?show=slow", "table.transactions [data-row]"],
  conflicts: ["transactions?show=conflicts", ".conflicts li"],
  failures: ["failures", "[data-group]"],
  locks: ["failures?show=locks", "h1"],
  workers: ["workers", "table.stack tbody tr"],
};

const widths = { wide: { width: 1_440, height: 900 }, phone: { width: 390, height: 844 } } as const;
/** How long a view is open before its picture is taken, in milliseconds. */
const restMs = 1_500;

/** Takes a picture of each view, at two widths, light and dark. Returns the views that did not appear. */
export async function takePictures(
  url: string,
  folder: string,
  only?: readonly string[],
): Promise<readonly string[]> {
  const browser = await startBrowser();
  const missing: string[] = [];
  try {
    for (const [name, [hash, shows]] of Object.entries(views)) {
      if (only !== undefined && only.length > 0 && !only.includes(name)) continue;
      for (const [width, viewport] of Object.entries(widths)) {
        for (const colorScheme of ["light", "dark"] as const) {
          const picture = `${name}-${width}-${colorScheme}`;
          sayProgress(picture);
          const { page, wrongs, close } = await openPage(browser, `${url}#/${hash}`, {
            viewport,
            colorScheme,
          });
          const isThere = await page
            .locator(shows)
            .first()
            .waitFor({ timeout: 15_000 })
            .then(
              () => true,
              () => false,
            );
          await pause(restMs);
          await page.screenshot({ path: join(folder, `${picture}.png`), fullPage: width === "phone" });
          await close();
          if (!isThere || wrongs.length > 0) missing.push(`${picture}: ${wrongs[0] ?? `no ${shows}`}`);
        }
      }
    }
    return missing;
  } finally {
    await browser.close();
  }
}
