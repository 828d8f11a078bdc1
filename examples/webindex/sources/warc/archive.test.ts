import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { WARCRecord, WARCSerializer } from "warcio";
import { maxUrlBytes } from "../../text/url.js";
import {
  gzipBlocks,
  gzipEach,
  gzipWhole,
  http,
  page,
  pages,
  pageUrl,
  sha1,
  warcRecord,
} from "../testing/archive.js";
import { all, line, only, Scratch } from "../testing/files.js";
import { readArchive } from "./index.js";

async function read(bytes: Uint8Array, name = "a.warc") {
  await using scratch = await Scratch.make();
  return await all(readArchive(await scratch.write(name, bytes)));
}

async function body(record: Buffer): Promise<string> {
  const [item] = await read(record);
  if (item?.kind !== "page") throw new Error(JSON.stringify(item));
  return Buffer.from(item.body).toString();
}

const url = pageUrl(1);

describe("the file format", () => {
  const records = pages(30, 2000);
  const urls = records.map((_, index) => pageUrl(index));

  test.each([
    ["plain", Buffer.concat(records)],
    ["a gzip member for each record", gzipEach(records)],
    ["one gzip member for all", gzipWhole(records)],
    [
      "several records in a member",
      Buffer.concat([gzipWhole(records.slice(0, 7)), gzipWhole(records.slice(7))]),
    ],
    ["members that are cut anywhere", gzipBlocks(records, 777)],
    ["an empty member at the end", Buffer.concat([gzipEach(records), gzipSync("")])],
  ])("%s, with any name", async (_, bytes) => {
    for (const name of ["a.warc", "a.warc.gz"]) {
      const items = await read(bytes, name);
      expect(items.map(line)).toEqual(urls.map((each) => `page ${each}`));
      expect(items.map(({ position }) => position)).toEqual(
        items.map(({ position }) => position).sort((a, b) => a - b),
      );
      expect(items.at(-1)).toMatchObject({ position: bytes.length, total: bytes.length });
    }
  });

  test("gzip headers with a name, a comment and extra fields", async () => {
    const plain = gzipSync(records[0]!);
    const names = Buffer.from("\x03\x00abcname\0comment\0\x00\x00", "latin1");
    const header = Buffer.concat([
      plain.subarray(0, 3),
      Buffer.from([2 | 4 | 8 | 16]),
      plain.subarray(4, 10),
      names,
    ]);
    const items = await read(Buffer.concat([header, plain.subarray(10), plain]), "a.warc.gz");
    expect(items.map(line)).toEqual([`page ${pageUrl(0)}`, `page ${pageUrl(0)}`]);
  });

  test("lines that end in LF only, and continuation lines", async () => {
    const lineEnd = "\n";
    const folded = { "WARC-Target-URI": `${url}\n ` };
    const block = "HTTP/1.0 200 OK\nContent-Type: text/html\n\n<p>one";
    const lines = [
      warcRecord({ url: pageUrl(0), block, lineEnd }),
      warcRecord({ type: "metadata", url, block: "a: b", lineEnd }),
      warcRecord({ url, block: `${block}\n\n`, lineEnd, fields: folded }),
    ];
    for (const bytes of [Buffer.concat(lines), gzipEach(lines)]) {
      expect((await read(bytes)).map(line)).toEqual([`page ${pageUrl(0)}`, `page ${url}`]);
    }
  });

  test("offsets are those of records in a plain file, and of gzip members in a compressed one", async () => {
    const two = records.slice(0, 2);
    expect((await read(Buffer.concat(two))).map(({ offset }) => offset)).toEqual([0, two[0]!.length]);
    expect((await read(gzipEach(two))).map(({ offset }) => offset)).toEqual([0, gzipSync(two[0]!).length]);
  });

  test("an archive by another writer", async () => {
    const made = WARCRecord.create(
      {
        url: "https://example.org/a#fragment",
        date: "2024-05-06T07:08:09Z",
        type: "response",
        warcVersion: "WARC/1.1",
        httpHeaders: { "Content-Type": "text/html; charset=utf-8" },
      },
      (async function* () {
        yield new TextEncoder().encode("<title>héllo</title>");
      })(),
    );
    const [item, ...rest] = await read(await WARCSerializer.serialize(made, { gzip: true }));
    expect(rest).toEqual([]);
    expect(item).toMatchObject({
      kind: "page",
      url: "https://example.org/a",
      contentType: "text/html; charset=utf-8",
      at: Date.parse("2024-05-06T07:08:09Z"),
    });
  });
});

describe("the meaning of a record", () => {
  test("pages that are gone, moved, failing, or not text", async () => {
    const records = [
      warcRecord({ url: pageUrl(0), block: http("none", {}, 404) }),
      warcRecord({ url: pageUrl(1), block: http("none", {}, 410) }),
      warcRecord({ url: pageUrl(2), block: http("", { Location: "/3" }, 301) }),
      warcRecord({ url: pageUrl(3), block: http("", {}, 503) }),
      warcRecord({ url: pageUrl(4), block: http("", { "Content-Type": "image/png" }) }),
      warcRecord({ url: pageUrl(5), block: http(Buffer.from("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "latin1")) }),
      warcRecord({ url: "dns:example.org", block: "1.2.3.4", fields: { "Content-Type": "text/dns" } }),
    ];
    expect(
      (await read(gzipEach(records))).map((item) => ("reason" in item ? item.reason : line(item))),
    ).toEqual([
      `gone ${pageUrl(0)}`,
      `gone ${pageUrl(1)}`,
      `gone ${pageUrl(2)}`,
      "HTTP status 503",
      'not a text, but "image/png"',
      "not a text, but binary",
      "not of the web, but dns:",
    ]);
  });

  test("revisits: unchanged, with the digest and the page that they refer to", async () => {
    const digest = sha1("body");
    const revisit = (fields: { [name: string]: string }, status = 200) =>
      warcRecord({ type: "revisit", url, block: http("", {}, status), fields });
    const records = [
      revisit({ "WARC-Payload-Digest": digest, "WARC-Refers-To-Target-URI": url }),
      revisit({ "WARC-Refers-To-Target-URI": pageUrl(7) }),
      revisit({}, 304),
      warcRecord({ type: "revisit", url }),
      revisit({}, 404),
      revisit({}, 302),
    ];
    const items = await read(gzipEach(records));
    expect(items.map(({ kind }) => kind)).toEqual([...Array(4).fill("unchanged"), "gone", "skipped"]);
    expect(items[0]).toMatchObject({ url, digest, refersTo: url });
    expect(items[1]).toMatchObject({ url, digest: undefined, refersTo: pageUrl(7) });
  });

  test("resource records are pages, other records are skipped", async () => {
    const resource = (type: string, block: string) =>
      warcRecord({ type: "resource", url: "https://example.org/r", block, fields: { "Content-Type": type } });
    const records = [
      warcRecord({ type: "warcinfo", block: "software: x" }),
      warcRecord({ type: "request", url, block: "GET / HTTP/1.1\r\n\r\n" }),
      warcRecord({ type: "metadata", url, block: "a: b" }),
      warcRecord({ type: "of the future", url, block: "a: b" }),
      resource("text/markdown", "# a"),
      resource("image/png", "x"),
      // The URL of the record in which wget stores its own log.
      ...[
        "metadata://gnu.org/software/wget/warc/wget.log",
        "urn:view:https://example.org/",
        "about:blank",
      ].map((target) =>
        warcRecord({
          type: "resource",
          url: target,
          block: "text",
          fields: { "Content-Type": "text/plain" },
        }),
      ),
    ];
    const items = await read(gzipEach(records));
    expect(items.map(({ kind }) => kind)).toEqual(["page", ...Array(4).fill("skipped")]);
    expect(items[0]).toMatchObject({ url: "https://example.org/r", contentType: "text/markdown" });
  });

  test("a missing Content-Type is guessed from the body", async () => {
    const bare = (text: string) => warcRecord({ url, block: `HTTP/1.1 200 OK\r\n\r\n${text}` });
    const items = await read(gzipEach([bare("  <!DOCTYPE html><p>a"), bare("a < b")]));
    expect(only(items, "page").map(({ contentType }) => contentType)).toEqual(["text/html", "text/plain"]);
  });

  test("URLs: in brackets, too long, and missing", async () => {
    const long = `https://example.org/${"a".repeat(maxUrlBytes)}`;
    const records = ["<https://example.org:443/b>", long, "no url"].map((each) => page(each, "x"));
    const items = await read(gzipEach([...records, ...pages(1)]));
    expect(items.map(({ kind }) => kind)).toEqual(["page", "problem", "problem", "page"]);
    expect(items[0]).toMatchObject({ url: "https://example.org/b" });
    expect(only(items, "problem").map(({ message }) => message)).toEqual([
      expect.stringMatching(/longer than 1200 bytes/),
      expect.stringMatching(/is no URL: "no url"/),
    ]);
  });

  test("a record that is not a response, and one segment of several", async () => {
    const segment = page(url, "a", { fields: { "WARC-Segment-Number": "1" } });
    const items = await read(gzipEach([warcRecord({ url, block: "not HTTP" }), segment]));
    expect(items.map(({ kind }) => kind)).toEqual(["problem", "problem"]);
  });
});

describe("digests", () => {
  const cases = ["md5", "sha1", "sha-1", "sha256", "SHA-512"];

  test.each(cases)("%s, in any spelling", async (name) => {
    const { createHash } = await import("node:crypto");
    const { base32 } = await import("./digest.js");
    const digest = createHash(name.toLowerCase().replace("-", "")).update("body").digest();
    for (const value of [
      base32(digest),
      base32(digest).toLowerCase(),
      digest.toString("hex"),
      digest.toString("base64"),
    ]) {
      const fields = (label: string) => ({ "WARC-Payload-Digest": label });
      expect(await body(page(url, "body", { fields: fields(`${name}:${value}`) }))).toBe("body");
      const [wrong] = await read(page(url, "other", { fields: fields(`${name}:${value}`) }));
      expect(wrong?.kind).toBe("problem");
    }
  });

  test("digests by unknown algorithms are not checked", async () => {
    expect(await body(page(url, "body", { fields: { "WARC-Payload-Digest": "blake9:abc" } }))).toBe("body");
  });

  test("of the payload as transferred, or without chunks", async () => {
    const chunked = "4\r\nbody\r\n0\r\n\r\n";
    const block = http(chunked, { "Transfer-Encoding": "chunked" });
    for (const of of [chunked, "body"]) {
      expect(await body(warcRecord({ url, block, fields: { "WARC-Payload-Digest": sha1(of) } }))).toBe(
        "body",
      );
    }
  });
});

describe("transfer and content encodings", () => {
  const record = (payload: Buffer | string, headers: { [name: string]: string }) =>
    warcRecord({ url, block: http(payload, headers) });

  test("chunks with extensions, LF line ends, and trailers", async () => {
    const chunked = { "Transfer-Encoding": "chunked" };
    expect(await body(record("5;a=b\r\nhello\r\n1\r\n!\r\n0\r\nTrailer: x\r\n\r\n", chunked))).toBe("hello!");
    expect(await body(record("5\nhello\n0\n\n", chunked))).toBe("hello");
    expect(await body(record("0\r\n\r\n", chunked))).toBe("");
  });

  test("a body that was stored without the encoding that its header names", async () => {
    expect(await body(record("<p>plain", { "Transfer-Encoding": "chunked" }))).toBe("<p>plain");
    expect(await body(record("<p>plain", { "Content-Encoding": "gzip" }))).toBe("<p>plain");
  });

  test.each([
    ["gzip", gzipSync("<p>body")],
    ["x-gzip", gzipSync("<p>body")],
    ["deflate", deflateSync("<p>body")],
    ["Deflate", deflateRawSync("<p>body")],
    ["br", brotliCompressSync("<p>body")],
    ["identity", Buffer.from("<p>body")],
    ["gzip, br", brotliCompressSync(gzipSync("<p>body"))],
  ])("%s", async (coding, payload) => {
    expect(await body(record(payload, { "Content-Encoding": coding }))).toBe("<p>body");
    const size = payload.length.toString(16);
    const chunks = Buffer.concat([Buffer.from(`${size}\r\n`), payload, Buffer.from("\r\n0\r\nA: b\r\n\r\n")]);
    const both = { "Content-Encoding": coding, "Transfer-Encoding": "chunked" };
    expect(await body(record(chunks, both))).toBe("<p>body");
  });

  test("truncated or undecodable bodies are reported, and the next page is read", async () => {
    const br = brotliCompressSync("<p>body body body");
    const records = [
      record("5\r\nhello\r\nxyz", { "Transfer-Encoding": "chunked" }),
      record("ff\r\nhello", { "Transfer-Encoding": "chunked" }),
      record(gzipSync("<p>body").subarray(0, 20), { "Content-Encoding": "gzip" }),
      record(br.subarray(0, br.length - 3), { "Content-Encoding": "br" }),
      record("body", { "Content-Encoding": "deflate" }),
      record("body", { "Content-Encoding": "zstd" }),
    ];
    const items = await read(gzipEach([...records, ...pages(1)]));
    expect(items.map(({ kind }) => kind)).toEqual([...records.map(() => "problem"), "page"]);
    for (const { message, url: of } of only(items, "problem")) {
      expect(message).toMatch(/^The body cannot be read: /);
      expect(of).toBe(url);
    }
  });
});

test("an aborted signal ends the read with its reason", async () => {
  await using scratch = await Scratch.make();
  const path = await scratch.write("a.warc", Buffer.concat(pages(50)));
  const controller = new AbortController();
  const read: string[] = [];
  const reading = (async () => {
    for await (const item of readArchive(path, controller.signal)) {
      read.push(item.kind);
      if (read.length === 3) controller.abort(new Error("enough"));
    }
  })();
  await expect(reading).rejects.toThrow("enough");
  expect(read).toHaveLength(3);
});

test("an unreadable file is a problem, not an exception", async () => {
  await using scratch = await Scratch.make();
  expect((await all(readArchive(scratch.path))).map(({ kind }) => kind)).toEqual(["problem"]);
});
