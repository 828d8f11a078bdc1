import type { Page } from "playwright-core";

/** What a page of the documentation shows. */
export interface SitePage {
  /** Its path, such as `/first-hour.html`. */
  readonly path: string;
  /** By how many pixels it is wider than the screen. */
  readonly overflow: number;
  /** Elements that reach beyond the screen, and are in nothing that scrolls. */
  readonly outside: readonly string[];
  /** Cells of tables whose text runs out of them, or stands in a column of a few letters. */
  readonly cells: readonly string[];
  /** Tables that scroll though their columns are no numbers. */
  readonly cutTables: readonly string[];
  /** The names above blocks of code. */
  readonly blockNames: readonly string[];
  /** Those that cannot be seen, or stand apart from their block. */
  readonly strayNames: readonly string[];
  /** Drawings whose letters are too small. */
  readonly smallFigures: readonly string[];
  readonly anchors: readonly string[];
  /** Where its links lead, within the site. */
  readonly links: readonly string[];
}

/** Runs in the browser. Columns with sentences need `readable` pixels. */
const measure = `(() => {
  const readable = 90;
  const all = (selector) => [...document.querySelectorAll(selector)];
  const words = (element) => element.textContent.trim().replace(/\\s+/g, " ").slice(0, 60);
  const name = (element) => element.tagName.toLowerCase() + "." + (element.getAttribute("class") ?? "") + ": " + words(element);
  const width = document.documentElement.clientWidth;
  const scrolls = (element) => {
    for (let each = element; each !== null && each.id !== "VPContent"; each = each.parentElement)
      if (getComputedStyle(each).overflowX !== "visible") return true;
    return false;
  };
  const runsOut = (cell) => {
    const box = cell.getBoundingClientRect();
    if (box.width <= 1 || box.height <= 1) return false;
    const range = document.createRange();
    range.selectNodeContents(cell);
    return [...range.getClientRects()].some(({ left, right }) => left < box.left - 1 || right > box.right + 1);
  };
  const isSqueezed = (cell) => words(cell).length > 40 && cell.getBoundingClientRect().width < readable;
  const shownCells = all(".vp-doc td, .vp-doc th").filter((cell) => cell.closest("thead")?.clientWidth !== 1);
  const isStray = (label) => {
    const { left, right, bottom, height } = label.getBoundingClientRect();
    const block = label.nextElementSibling.getBoundingClientRect();
    const isJoined = Math.abs(left - block.left) < 1 && Math.abs(right - block.right) < 1 && Math.abs(bottom - block.top) < 1;
    return words(label) === "" || height < 10 || !isJoined;
  };
  const drawnAt = (figure) => figure.getBoundingClientRect().width / (figure.viewBox?.baseVal.width || figure.naturalWidth);
  const isHere = (link) => link.origin === location.origin;
  const menu = ["/", "/api/"].includes(location.pathname.replace("index.html", "")) ? ", .VPSidebar a[href]" : "";
  return {
    path: location.pathname.replace(/\\/$/, "/index.html"),
    overflow: document.documentElement.scrollWidth - width,
    outside: all("#VPContent *")
      .filter((element) => element.getBoundingClientRect().right > width + 1 && !scrolls(element))
      .slice(0, 5).map(name),
    cells: shownCells.filter((cell) => runsOut(cell) || isSqueezed(cell)).map(name),
    cutTables: all(".vp-doc table:not(.scrolling)").filter((table) => table.scrollWidth > table.clientWidth + 1).map(name),
    blockNames: all(".block-name").map(words),
    strayNames: all(".block-name").filter(isStray).map(words),
    smallFigures: all(".vp-doc .figure svg, .vp-doc .figure img").filter((figure) => drawnAt(figure) < 0.65).map(name),
    anchors: all("[id]").map(({ id }) => id),
    links: [...new Set(all("#VPContent a[href], .VPNav a[href]" + menu).filter(isHere).map((link) => link.pathname + link.hash))],
  };
})()`;

export async function measurePage(page: Page): Promise<SitePage> {
  return (await page.evaluate(measure)) as SitePage;
}

/** Goes to another page as a click on a link does, without loading the site again. */
export async function followTo(page: Page, path: string): Promise<void> {
  await page.evaluate(
    `(() => {
      const link = document.createElement("a");
      link.href = ${JSON.stringify(path)};
      document.querySelector("#VPContent").append(link);
      link.click();
      link.remove();
    })()`,
  );
  // VitePress gives the text a class that is made of the page's path.
  const shown = path
    .replace(/index\.html$/, "")
    .replace(/[./]+/g, "_")
    .replace(/_html$/, "");
  await page.waitForFunction(
    `document.querySelector(".vp-doc")?.classList.contains(${JSON.stringify(shown)})`,
  );
}
