import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openSource } from "../sources/index.js";
import { gzipEach, http, page, type RecordParts, sha1, warcRecord } from "../sources/testing/archive.js";
import { Scratch } from "../sources/testing/files.js";
import { documents } from "../tables.js";
import { compareWithTwin } from "../twin/compare.js";
import { WebIndex } from "../webindex.js";

const a = "https://example.org/a";
const b = "https://example.org/b";
const old = "<title>A</title>walrus";
const later = "<title>A</title>otter";
const hex = (algorithm: string, text: string | Buffer) => createHash(algorithm).update(text).digest("hex");

/** A revisit record, as crawlers write it for a body that they recognise by its digest. */
function revisit(url: string, digest: string | undefined, more: Partial<RecordParts> = {}): Buffer {
  return warcRecord({
    type: "revisit",
    url,
    block: http(""),
    ...more,
    fields: {
      "WARC-Profile": "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
      "WARC-Payload-Digest": digest,
      "WARC-Refers-To-Target-URI": url,
      "WARC-Refers-To-Date": "2024-01-02T03:04:05Z",
      ...more.fields,
    },
  });
}

/** A revisit record as crawlers write it for a 304 response. */
function notModified(url: string, fields: { readonly [name: string]: string | undefined } = {}): Buffer {
  return warcRecord({
    type: "revisit",
    url,
    block: "HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n",
    fields: { "WARC-Profile": "http://netpreserve.org/warc/1.1/revisit/server-not-modified", ...fields },
  });
}

describe("revisits, loaded after another crawl", () => {
  let index: WebIndex;
  let scratch: Scratch;
  let crawls = 0;

  beforeEach(async () => {
    index = await WebIndex.open("memory:");
    scratch = await Scratch.make();
  });

  afterEach(async () => {
    await index.close();
    await scratch[Symbol.asyncDispose]();
  });

  async function load(...records: Buffer[]) {
    const path = await scratch.write(`${++crawls}.warc.gz`, gzipEach(records));
    return await index.load(await openSource(path));
  }

  /** Loads a crawl and returns the twin's verdict on its pages. */
  async function verdictOf(...records: Buffer[]) {
    const path = await scratch.write(`${++crawls}.warc.gz`, gzipEach(records));
    await using view = await index.db.snapshot();
    const [verdict] = await compareWithTwin(view, { source: await openSource(path) });
    return verdict!;
  }

  async function bodyOf(url: string): Promise<string | undefined> {
    await using view = await index.db.snapshot();
    const contents = await view.get(documents.contents, url);
    return (
      contents &&
      Buffer.from(contents)
        .toString()
        .replace(/^[^<]*/s, "")
    );
  }

  test("if a crawl was skipped, the page is stale, is reported with its place, and stays", async () => {
    await load(page(a, old), page(b, old));
    const report = await load(revisit(b, sha1(old)), revisit(a, sha1(later)));
    expect(report).toMatchObject({ pages: 2, unchanged: 1, stale: 1, problemCount: 1, changed: 0 });
    expect(report.problems).toHaveLength(1);
    expect(report.problems[0]).toMatchObject({ kind: "stale", count: 1 });
    const place = gzipEach([revisit(b, sha1(old))]).length;
    expect(report.problems[0]!.examples[0]).toMatch(
      new RegExp(`2\\.warc\\.gz, byte ${place}: .*${sha1(later)}.*${a}`),
    );
    expect(await bodyOf(a)).toBe(old);
  });

  test.each(["md5", "sha1", "sha256", "sha512"])(
    "a digest by %s matches, whatever the first crawl recorded",
    async (algorithm) => {
      await load(page(a, old));
      const same = await load(revisit(a, `${algorithm}:${hex(algorithm, old)}`));
      expect(same).toMatchObject({ unchanged: 1, unchecked: 0, stale: 0 });
      const other = await load(revisit(a, `${algorithm}:${hex(algorithm, later)}`));
      expect(other).toMatchObject({ unchanged: 0, stale: 1 });
    },
  );

  test("for a body that was transferred encoded, the digest of the transfer or of the decoded body matches", async () => {
    const gzip = gzipSync(old);
    const block = http(gzip, { "Content-Encoding": "gzip" });
    await load(page(a, old, { block, fields: { "WARC-Payload-Digest": sha1(gzip) } }));
    for (const same of [sha1(gzip), `sha256:${hex("sha256", gzip)}`, sha1(old)]) {
      expect(await load(revisit(a, same))).toMatchObject({ unchanged: 1, unchecked: 0, stale: 0 });
    }
    expect(await load(revisit(a, sha1(later)))).toMatchObject({ stale: 1 });
    // The same page with another compression. Both digests are valid.
    const better = gzipSync(old, { level: 1, memLevel: 1 });
    const other = page(a, old, {
      block: http(better, { "Content-Encoding": "gzip" }),
      fields: { "WARC-Payload-Digest": `sha1:${hex("sha1", Buffer.concat([better]))}` },
    });
    expect(await load(other)).toMatchObject({ unchanged: 1 });
    expect(await load(revisit(a, sha1(better)), revisit(a, sha1(gzip)))).toMatchObject({
      unchanged: 2,
      stale: 0,
    });
    // Digests of earlier contents do not match a page with new contents.
    await load(page(a, later));
    expect(await load(revisit(a, sha1(gzip)))).toMatchObject({ stale: 1 });
  });

  test("the digest of a body that was transferred in chunks matches", async () => {
    const chunked = `${old.length.toString(16)}\r\n${old}\r\n0\r\n\r\n`;
    const block = http(chunked, { "Transfer-Encoding": "chunked" });
    for (const of of [chunked, old]) {
      await load(page(a, old, { block, fields: { "WARC-Payload-Digest": sha1(of) } }));
      expect(await load(revisit(a, sha1(of)))).toMatchObject({ unchanged: 1, stale: 0 });
    }
  });

  test("a digest by an unknown algorithm is compared as text, or counted as not checked", async () => {
    await load(page(a, old, { fields: { "WARC-Payload-Digest": "blake9:abc" } }), page(b, old));
    expect(await load(revisit(a, "BLAKE9:abc"))).toMatchObject({ unchanged: 1, unchecked: 0 });
    expect(await load(revisit(a, "blake9:xyz"))).toMatchObject({ stale: 1 });
    expect(await load(revisit(a, "snefru:abc"))).toMatchObject({ unchanged: 1, unchecked: 1 });
  });

  test("a revisit without a digest, or with the digest of an empty payload, is counted as unchecked", async () => {
    await load(page(a, old));
    const report = await load(notModified(a), notModified(a, { "WARC-Payload-Digest": sha1("") }));
    expect(report).toMatchObject({ unchanged: 2, unchecked: 2, stale: 0, problemCount: 0 });
    // An empty page is recognised by the same digest.
    expect(await load(revisit(a, sha1("")))).toMatchObject({ stale: 1 });
    await load(page(a, ""));
    expect(await load(revisit(a, sha1("")))).toMatchObject({ unchanged: 1, unchecked: 0 });
  });

  test("a revisit without a digest, of a record that was not loaded, is a separate kind of problem, and the page stays", async () => {
    const since = (date: string, more: { readonly [name: string]: string | undefined } = {}) =>
      notModified(a, { "WARC-Refers-To-Date": date, "WARC-Date": "2024-05-01T00:00:00Z", ...more });
    await load(page(a, old));
    const report = await load(since("2024-02-01T00:00:00Z"));
    expect(report).toMatchObject({ unchanged: 0, unchecked: 0, stale: 0, problemCount: 1 });
    expect(report.problems).toMatchObject([{ kind: "other record", count: 1 }]);
    expect(report.problems[0]!.examples[0]).toMatch(
      /\d+\.warc\.gz.*2024-02-01T00:00:00.000Z.*not loaded.*example\.org\/a/,
    );
    expect(await bodyOf(a)).toBe(old);
    expect((await verdictOf(since("2024-02-01T00:00:00Z"))).differences).toEqual([
      expect.stringMatching(/another record than the source names, which is of 2024-02-01/),
    ]);
    // The first revisit refers to the loaded record, with another spelling of its date. The next
    // one refers to the first revisit.
    const kept = since("2024-01-02T03:04:05.678Z");
    expect(await load(kept)).toMatchObject({ unchanged: 1, unchecked: 1, problemCount: 0 });
    expect(await verdictOf(kept)).toMatchObject({ different: 0 });
    const next = { "WARC-Date": "2024-06-01T00:00:00Z" };
    expect(await load(since("2024-05-01T00:00:00Z", next))).toMatchObject({ unchecked: 1, problemCount: 0 });
    // A digest takes precedence over a date.
    const digest = { "WARC-Payload-Digest": sha1(old) };
    expect(await load(since("2020-01-01T00:00:00Z", digest))).toMatchObject({ unchanged: 1, unchecked: 0 });
    // Other contents are another record.
    await load(page(a, later, { fields: { "WARC-Date": "2024-07-01T00:00:00Z" } }));
    expect(await load(kept)).toMatchObject({ problemCount: 1 });
    // A record of another page.
    const of = (date: string) =>
      since(date, {
        "WARC-Target-URI": b,
        "WARC-Refers-To-Target-URI": a,
        "WARC-Date": "2024-08-01T00:00:00Z",
      });
    expect(await load(of("2024-05-01T00:00:00Z"))).toMatchObject({ added: 0, problemCount: 1 });
    expect(await load(of("2024-07-01T00:00:00Z"))).toMatchObject({ added: 1, problemCount: 0 });
    expect(await verdictOf(of("2024-07-01T00:00:00Z"))).toMatchObject({ different: 0 });
  });

  test("a revisit that refers to another page's body copies it if it has the digest", async () => {
    const refersTo = (url: string, digest: string | undefined) =>
      revisit(url, digest, { fields: { "WARC-Refers-To-Target-URI": b } });
    await load(page(b, old));
    expect(await load(refersTo(a, sha1(old)))).toMatchObject({ added: 1, stale: 0 });
    expect(await bodyOf(a)).toBe(old);
    // The other page has changed since then. The revisit still means the contents of this page.
    await load(page(b, later));
    expect(await load(refersTo(a, sha1(old)))).toMatchObject({ unchanged: 1, stale: 0 });
    expect(await load(refersTo(a, sha1(later)))).toMatchObject({ changed: 1 });
    expect(await load(refersTo(a, sha1("neither")))).toMatchObject({ stale: 1, changed: 0 });
    expect(await load(refersTo("https://example.org/new", sha1("neither")))).toMatchObject({
      stale: 1,
      added: 0,
    });
    expect(await load(refersTo("https://example.org/new", undefined))).toMatchObject({ added: 1 });
  });

  test("images, styles and scripts are not problems, by type or by name; a missing page is", async () => {
    const typed = (type: string) =>
      revisit("https://example.org/x", sha1("x"), { block: http("", { "Content-Type": type }) });
    const identified = { "WARC-Identified-Payload-Type": "font/woff2" };
    const report = await load(
      ...["image/png", "text/css", "application/javascript; charset=utf-8"].map(typed),
      notModified("https://example.org/y", identified),
      ...["logo.png", "s.css?v=3", "a.b.js", "x.WOFF2"].map((name) =>
        notModified(`https://example.org/${name}`),
      ),
      notModified("https://example.org/page.html"),
      notModified("https://example.org/a.png/page"),
    );
    expect(report).toMatchObject({ skipped: 8, problemCount: 2 });
    expect(report.problems).toMatchObject([{ kind: "unseen", count: 2 }]);
    // A page's URL may end like an image's, as on a wiki.
    const wiki = "https://example.org/wiki/File:A.png";
    await load(page(wiki, old));
    expect(await load(notModified(wiki), revisit(wiki, sha1(later)))).toMatchObject({
      unchanged: 1,
      stale: 1,
      skipped: 0,
    });
  });

  test("problems are counted by kind, and the examples of one kind do not displace those of another", async () => {
    const missing = Array.from({ length: 150 }, (_, at) => notModified(`https://example.org/${at}`));
    const wrong = page(b, old, { fields: { "WARC-Payload-Digest": sha1(later) } });
    await load(page(a, old));
    const report = await load(...missing, wrong, revisit(a, sha1(later)));
    expect(report.problemCount).toBe(152);
    expect(report.problems.map(({ kind, count, examples }) => [kind, count, examples.length])).toEqual([
      ["unseen", 150, 10],
      ["digest", 1, 1],
      ["stale", 1, 1],
    ]);
  });

  test("skipped items are counted by reason, with examples", async () => {
    const records = [301, 302, 302, 302, 302, 404, 503].map((status, at) =>
      warcRecord({ url: `https://example.org/${at}`, block: http("", { Location: "/z" }, status) }),
    );
    const report = await load(
      ...records,
      ...["a", "b"].map((name) => warcRecord({ type: "resource", url: `urn:x:${name}` })),
    );
    expect(report.skips.map(({ kind, count, examples }) => [kind, count, examples.length])).toEqual([
      ["HTTP status 302", 4, 3],
      ["HTTP status 503", 1, 1],
      ["not of the web, but urn:", 2, 2],
      ["HTTP status 301", 1, 1],
      ["HTTP status 404", 1, 1],
    ]);
    expect(report.skips[0]!.examples[0]).toMatch(/1?.warc.gz, byte \d+ \(https:\/\/example\.org\/1\)/);
    const many = Array.from({ length: 60 }, (_, at) =>
      warcRecord({ url: `https://example.org/t${at}`, block: http("", { "Content-Type": `x/${at}` }) }),
    );
    const odd = await load(...many);
    expect(odd.skips.length).toBeLessThan(30);
    expect(odd.skips.reduce((sum, { count }) => sum + count, 0)).toBe(60);
  });

  test.each([301, 308, 404, 410])("a page that now answers %i is deleted", async (status) => {
    await load(page(a, old), page(b, old));
    const answer = warcRecord({ url: a, block: http("", { Location: b }, status) });
    const again = warcRecord({ type: "revisit", url: b, block: http("", { Location: "/c" }, status) });
    expect(await load(answer, again)).toMatchObject({ deleted: 2, problemCount: 0, skipped: 0 });
    expect(await bodyOf(a)).toBeUndefined();
  });

  test.each([302, 303, 307, 500, 503])("a page that answers %i once stays", async (status) => {
    await load(page(a, old));
    const answer = warcRecord({ url: a, block: http("", { Location: b }, status) });
    expect(await load(answer)).toMatchObject({ deleted: 0, skipped: 1 });
    expect(await bodyOf(a)).toBe(old);
  });

  test("a redirect to the same URL deletes nothing", async () => {
    await load(page(a, old));
    for (const location of [a, "/a", "#top", "https://user:word@example.org/a"]) {
      const answer = warcRecord({ url: a, block: http("", { Location: location }, 301) });
      expect(await load(answer)).toMatchObject({ deleted: 0, skipped: 1 });
    }
  });

  test("stored URLs contain no user names and passwords", async () => {
    await load(page("https://user:secret@example.org/a", `<a href="https://me:word@example.org/b">b</a>`));
    await index.settle();
    await using view = await index.db.snapshot();
    expect(await view.get(documents.links, a)).toEqual([[b, "b"]]);
    const urls: string[] = [];
    for await (const { row } of view.scan(documents.contents)) urls.push(row);
    expect(urls).toEqual([a]);
  });
});
