import { existsSync } from "node:fs";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

const executablePath = "/usr/bin/chromium";

const options = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Starts a browser with a fresh profile. The caller closes it. */
export async function startBrowser(): Promise<Browser> {
  if (!existsSync(executablePath))
    throw new Error(`These tests need Debian's chromium at ${executablePath}: apt-get install chromium`);
  return await chromium.launch({ executablePath, args: options });
}

/** An open page. `wrongs` records what must not happen on it. */
export interface WatchedPage {
  readonly page: Page;
  /** Errors in its console, requests to other origins, and violations of its security policy. */
  readonly wrongs: readonly string[];
  close(): Promise<void>;
}

/** The time limit for every wait, so that a test fails soon. */
const patienceMs = 20_000;

/** Opens a page that may send requests only to the origin of `url`. */
export async function openPage(
  browser: Browser,
  url: string,
  with_: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...with_ });
  context.setDefaultTimeout(patienceMs);
  const page = await context.newPage();
  const wrongs: string[] = [];
  const { origin } = new URL(url);
  page.on("console", (message) => {
    const isRefusal = /Failed to load resource/.test(message.text());
    if (message.type() === "error" && !isRefusal) wrongs.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => wrongs.push(`error: ${error.message}`));
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== origin) wrongs.push(`request to ${request.url()}`);
  });
  // Every violation of the security policy is reported as an event.
  await page.addInitScript(
    "addEventListener('securitypolicyviolation', (event) => console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI))",
  );
  await page.goto(url);
  return { page, wrongs, close: () => context.close() };
}
