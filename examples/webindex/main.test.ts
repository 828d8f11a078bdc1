import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { nodeArguments } from "../../test/support/built/files.js";
import { gzipEach, page, sha1, warcRecord } from "./sources/testing/archive.js";
import { Scratch } from "./sources/testing/files.js";

const main = fileURLToPath(new URL("./main.ts", import.meta.url));
const tsconfig = fileURLToPath(new URL("../../tsconfig.json", import.meta.url));
const site = "https://example.org/";

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** A running command: its output, and how it ended. */
class Command {
  readonly ended: Promise<Ended>;
  readonly #child;
  #out = "";
  #err = "";

  constructor(args: readonly string[], cwd?: string) {
    const env = { ...process.env, TSX_TSCONFIG_PATH: tsconfig };
    this.#child = spawn(process.execPath, nodeArguments(main, args), {
      cwd,
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child.stdout.on("data", (text: Buffer) => {
      this.#out += text.toString();
    });
    this.#child.stderr.on("data", (text: Buffer) => {
      this.#err += text.toString();
    });
    this.ended = new Promise((resolve, reject) => {
      this.#child.once("error", reject);
      this.#child.once("close", (code) => resolve({ code, out: this.#out, err: this.#err }));
    });
  }

  interrupt(): void {
    this.#child.kill("SIGINT");
  }

  /** Resolves with the first match in the output. */
  async printed(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.#out);
      if (found !== null) return found;
      const more = new Promise<true>((resolve) => this.#child.stdout.once("data", () => resolve(true)));
      if ((await Promise.race([more, this.ended])) !== true) throw new Error(`It ended: ${this.#err}`);
    }
  }
}

const run = (args: readonly string[], cwd?: string) => new Command(args, cwd).ended;

const first = [
  page(site, `<title>Start</title>walrus <a href="/a">otter</a>`),
  page(`${site}a`, "<title>A</title>badger"),
];
const second = [
  warcRecord({ type: "revisit", url: site, block: "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" }),
  page(`${site}a`, "<title>A</title>marmot"),
  page(`${site}b`, "<title>B</title>weasel"),
];

describe("the command", () => {
  it("loads several crawls, compares with the twin, and exits with 0", async () => {
    await using scratch = await Scratch.make();
    const one = await scratch.write("one.warc.gz", gzipEach(first));
    const two = await scratch.write("two.warc.gz", gzipEach(second));
    const data = `${scratch.path}/data`;
    const ended = await run(["--data", data, "--once", "--verify", one, two]);
    expect(ended).toMatchObject({ code: 0, err: "" });
    expect(ended.out).toContain("one.warc.gz: 2 live pages");
    expect(ended.out).toContain("two.warc.gz: 3 live pages");
    expect(ended.out).toContain("1 added, 1 changed, 1 unchanged, 0 deleted");
    expect(ended.out.match(/, equal$/gm)).toHaveLength(12);
    const again = await run(["--data", data, "--once", two]);
    expect(again).toMatchObject({ code: 0, err: "" });
    expect(again.out).toContain("0 added, 0 changed, 3 unchanged, 0 deleted");
    expect(again.out).toContain("0 commits of 0 cells");
  });

  it("reads the pages on threads, compares with the twin, and ends by itself", async () => {
    await using scratch = await Scratch.make();
    const one = await scratch.write("one.warc.gz", gzipEach(first));
    const ended = await run(["--data", "memory:", "--once", "--verify", "--threads", "1", one]);
    expect(ended).toMatchObject({ code: 0, err: "" });
    expect(ended.out.match(/, equal$/gm)).toHaveLength(6);
    expect((await run(["--threads", "many", one])).code).toBe(2);
  });

  it("loads the readable parts of a damaged archive, reports the place of the damage, and exits with 1", async () => {
    await using scratch = await Scratch.make();
    const whole = gzipEach(first);
    const cut = await scratch.write("cut.warc.gz", whole.subarray(0, whole.length - 20));
    const ended = await run(["--data", `${scratch.path}/data`, "--once", "--verify", cut]);
    expect(ended.code).toBe(1);
    expect(ended.out).toContain("1 live pages");
    expect(ended.err).toContain("cut.warc.gz, byte ");
  });

  it("exits with 1 if a crawl was skipped: the page is stale, and the comparison with the source finds it too", async () => {
    await using scratch = await Scratch.make();
    const one = await scratch.write("one.warc.gz", gzipEach(first));
    const fields = { "WARC-Payload-Digest": sha1("<title>A</title>marmot") };
    const block = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";
    const stale = warcRecord({ type: "revisit", url: `${site}a`, block, fields });
    const image = warcRecord({ type: "revisit", url: `${site}a.png`, block: "HTTP/1.1 304 Same\r\n\r\n" });
    const three = await scratch.write("three.warc.gz", gzipEach([image, stale]));
    const ended = await run(["--data", `${scratch.path}/data`, "--once", "--verify", one, three]);
    expect(ended.code).toBe(1);
    expect(ended.err).toMatch(/^1 problem:\n {2}1 stale pages/);
    expect(ended.err).toContain(`three.warc.gz, byte ${gzipEach([image]).length}: `);
    expect(ended.out).toContain("0 unchanged, 0 deleted, 1 stale, 1 of no use");
    expect(ended.out).toContain(
      "  of no use:\n    1 unchanged, never loaded, and no page by its name: " +
        "its name is that of an image or another file without text\n" +
        `      ${scratch.path}/three.warc.gz (${site}a.png)\n`,
    );
    expect(ended.out).toMatch(
      /source: 2 rows, 2 cells, 2 cells different|source: \d rows, \d cells, 1 cell different/,
    );
    expect(ended.out.match(/, equal$/gm)).toHaveLength(11);
  });

  it("serves an index without loading anything", async () => {
    await using scratch = await Scratch.make();
    await scratch.write("node_modules/x/README.md", "# Unwanted");
    const one = await scratch.write("one.warc.gz", gzipEach(first));
    const data = `${scratch.path}/data`;
    expect(await run(["--data", data, "--serve", "--port", "0"], scratch.path)).toMatchObject({ code: 1 });
    expect(await run(["--data", data, "--once", one])).toMatchObject({ code: 0 });
    const command = new Command(["--data", data, "--serve", "--verify", "--port", "0"], scratch.path);
    const [, url] = await command.printed(/Search at (\S+)/);
    await command.printed(/shards: .*, equal/);
    expect(await (await fetch(`${url}api/search?q=badger`)).json()).toMatchObject({ total: 1 });
    expect(await (await fetch(`${url}api/search?q=unwanted`)).json()).toMatchObject({ total: 0 });
    // Another process loads and indexes.
    const two = await scratch.write(
      "two.warc.gz",
      gzipEach([page(`${site}new`, "<title>New</title>wombat")]),
    );
    expect(await run(["--data", data, "--once", two])).toMatchObject({ code: 0 });
    const wombats = async () => (await fetch(`${url}api/search?q=wombat`)).json();
    await expect.poll(wombats).toMatchObject({ total: 1 });
    command.interrupt();
    const ended = await command.ended;
    expect(ended).toMatchObject({ code: 0, err: "" });
    expect(ended.out).not.toContain("pages in");
  });

  it.each([
    ["a source that is to be served and not loaded", ["--serve", "x.warc.gz"]],
    ["what is served and ends", ["--serve", "--once"]],
    ["an option that is not", ["--nonsense"]],
    ["a port that is none", ["--port", "99999"]],
    ["a source that is not there", ["--once", "absent.warc.gz"]],
    ["a location that cannot be one", ["--once", "--data", "nosuch://place"]],
  ])("exits with 2 for %s, and changes nothing", async (_, args) => {
    await using scratch = await Scratch.make();
    await scratch.write("node_modules/x/README.md", "# X");
    const ended = await run(args, scratch.path);
    expect(ended.code).toBe(2);
    expect(ended.err).toContain("error: ");
    expect(ended.err).not.toContain("    at ");
  });

  it("prints its usage", async () => {
    const ended = await run(["--help"]);
    expect(ended.code).toBe(0);
    expect(ended.out).toContain("Exit codes");
  });

  it("without arguments indexes the packages of the project, serves search, and ends on a signal", async () => {
    await using scratch = await Scratch.make();
    await scratch.write(
      "node_modules/walrus/README.md",
      "# Walrus\n\nA package about [otters](./otters.md).",
    );
    await scratch.write("node_modules/walrus/otters.md", "# Otters\n\nThey swim.");
    const command = new Command(["--data", `${scratch.path}/data`, "--port", "0"], scratch.path);
    const [, url] = await command.printed(/Search at (\S+)/);
    await command.printed(/2 live pages/);
    const found = await (await fetch(`${url}api/search?q=otters`)).json();
    expect(found).toMatchObject({ total: 2 });
    command.interrupt();
    expect(await command.ended).toMatchObject({ code: 0, err: "" });
  });

  it("can be interrupted during a load, and continues later", async () => {
    await using scratch = await Scratch.make();
    for (let index = 0; index < 600; index++) {
      await scratch.write(
        `site/${index}.html`,
        `<title>${index}</title>word${index} <a href="${index + 1}.html">x</a>`,
      );
    }
    const args = ["--data", `${scratch.path}/data`, "--base", site, "--port", "0", `${scratch.path}/site`];
    const command = new Command(args);
    await command.printed(/Search at/);
    command.interrupt();
    expect((await command.ended).code).toBe(0);
    const ended = await run(["--once", "--verify", ...args]);
    expect(ended).toMatchObject({ code: 0, err: "" });
    expect(ended.out).toContain("600 live pages");
  });
});
