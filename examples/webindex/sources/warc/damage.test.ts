import { gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { seeded } from "../../testing/site.js";
import {
  gzipBlocks,
  gzipEach,
  gzipWhole,
  http,
  noise,
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

/** The numbers of the pages that were read, and the offsets of problems. */
async function summary(bytes: Uint8Array, name?: string) {
  const items = await read(bytes, name);
  for (const { body, url } of only(items, "page")) {
    expect(Buffer.from(body).toString()).toContain(`<title>${url.split("/").at(-1)}</title>`);
  }
  return {
    pages: only(items, "page").map(({ url }) => Number(url.split("/").at(-1))),
    problems: only(items, "problem").map(({ offset }) => offset),
    messages: only(items, "problem").map(({ message }) => message),
  };
}

function startsOf(parts: readonly Buffer[]): number[] {
  let at = 0;
  return parts.map((part) => {
    at += part.length;
    return at - part.length;
  });
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index);

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = copy[at]! ^ 0x55;
  return copy;
}

describe("a compressed archive with a damaged member", () => {
  const members = pages(5, 3000).map((record) => gzipSync(record));
  const starts = startsOf(members);
  const archive = Buffer.concat(members);

  test.each([
    ["at its magic", 0],
    ["at its compression method", 2],
    ["in its flags", 3],
    ["in its data", 700],
    ["in its check sum", members[2]!.length - 7],
    ["in its length", members[2]!.length - 2],
  ])("%s: that page is missing and reported, all others are read", async (_, inside) => {
    const { pages, problems } = await summary(flipped(archive, starts[2]! + inside), "a.warc.gz");
    expect(pages).toEqual([0, 1, 3, 4]);
    expect(problems).toEqual([starts[2]]);
  });

  test("wherever one byte changes, no other page is lost, and no damage stays undetected", async () => {
    const step = 131;
    for (let at = starts[1]!; at < starts[3]!; at += step) {
      const found = await summary(flipped(archive, at), "a.warc.gz");
      const inside = at - (at < starts[2]! ? starts[1]! : starts[2]!);
      // A gzip checksum does not cover the time and system in the header. Reading ignores both.
      if (inside >= 4 && inside < 10) continue;
      expect(found.problems, `byte ${at}`).toEqual([at < starts[2]! ? starts[1] : starts[2]]);
      expect(found.pages, `byte ${at}`).toEqual(at < starts[2]! ? [0, 2, 3, 4] : [0, 1, 3, 4]);
    }
  });

  test("at the first byte of the file", async () => {
    const { pages, problems } = await summary(flipped(archive, 0), "a.warc.gz");
    expect(pages).toEqual([1, 2, 3, 4]);
    expect(problems).toEqual([0]);
  });

  test("two damaged members in a row, and one apart", async () => {
    const damaged = flipped(flipped(flipped(archive, starts[0]! + 800), starts[1]! + 800), starts[3]! + 800);
    const { pages, problems, messages } = await summary(damaged, "a.warc.gz");
    expect(pages).toEqual([2, 4]);
    expect(problems).toEqual([starts[0], starts[1], starts[3]]);
    expect(messages[0]).toMatch(new RegExp(`gzip member is damaged .*reading goes on at byte ${starts[1]}$`));
  });

  test("bytes between members that belong to none", async () => {
    const junk = Buffer.from("between \x1f\x8b\x08\x00 members", "latin1");
    const { pages, problems } = await summary(Buffer.concat([members[0]!, junk, members[1]!]), "a.warc.gz");
    expect(pages).toEqual([0, 1]);
    expect(problems).toEqual([members[0]!.length]);
  });

  test("a sound member without a record: the records before it and after it are read", async () => {
    const other = gzipSync("something else");
    const { pages, problems } = await summary(Buffer.concat([members[0]!, other, members[1]!]), "a.warc.gz");
    expect(pages).toEqual([0, 1]);
    expect(problems).toEqual([members[0]!.length]);
  });

  test("large members, which are inflated in pieces", async () => {
    const large = pages(3, 900_000).map((record) => gzipSync(record));
    const offsets = startsOf(large);
    const sound = Buffer.concat(large);
    expect(await summary(sound, "a.warc.gz")).toMatchObject({ pages: [0, 1, 2], problems: [] });
    for (const inside of [300_000, large[1]!.length - 6]) {
      const { pages, problems } = await summary(flipped(sound, offsets[1]! + inside), "a.warc.gz");
      expect(pages).toEqual([0, 2]);
      expect(problems).toEqual([offsets[1]]);
    }
  });
});

describe("complete records are read, before and after the damage", () => {
  const sizes = [40, 700, 3_000, 90_000, 300_000];
  const records = range(0, 12).map((index) => {
    const body = `<title>${index}</title>${noise(index, sizes[(index * 7) % 5]!)}`;
    // Some records have both digests, some one of them, some none, as with different crawlers.
    const without = index % 3 === 0 ? {} : { "WARC-Block-Digest": undefined };
    const none = index % 3 === 2 ? { "WARC-Payload-Digest": undefined } : {};
    return page(pageUrl(index), body, { fields: { ...without, ...none } });
  });
  const members = records.map((record) => gzipSync(record));
  const starts = startsOf(members);
  const archive = Buffer.concat(members);
  const random = seeded(1);

  /** Expects that damage in the bytes from `from` up to `to` loses only their members. */
  async function expectOthers(bytes: Buffer, from: number, to: number, shift: number, name: string) {
    const hurt = (index: number) => starts[index]! < to && starts[index]! + members[index]!.length > from;
    const found = await summary(bytes, name);
    const said = `${from} to ${to}, ${shift} more bytes: ${found.messages.join("; ")}`;
    for (const index of range(0, members.length))
      if (!hurt(index)) expect(found.pages, said).toContain(index);
    const isMissing = found.pages.length < members.length;
    if (isMissing) expect(found.problems.length, said).toBeGreaterThan(0);
    // Expects that no problem is reported at a sound member.
    for (const offset of found.problems) {
      const at = offset < to ? offset : offset - shift;
      const index = starts.findLastIndex((start) => start <= at);
      expect(hurt(index) || at >= from, said).toBe(true);
    }
  }

  test.each(["a.warc.gz", "a.warc"])("%s", async (name) => {
    for (let round = 0; round < 24; round++) {
      const from = round < 4 ? round : random(archive.length);
      const length = [1, 2, 30, 512, 4_096, 65_536][random(6)]!;
      const to = Math.min(archive.length, from + length);
      const [before, after] = [archive.subarray(0, from), archive.subarray(to)];
      const other = Buffer.alloc(to - from, [0, 0x55, 0xff][round % 3]);
      if (round % 3 === 1) for (let at = 0; at < other.length; at++) other[at] = random(256);
      await expectOthers(Buffer.concat([before, other, after]), from, to, 0, name);
      if (from > 4) await expectOthers(Buffer.concat([before, after]), from, to, from - to, name);
      const more = Buffer.concat([before, other, archive.subarray(from)]);
      await expectOthers(more, from, from + 1, other.length, name);
    }
  });

  test("members in another order, and one twice", async () => {
    const order = [3, 1, 1, 0, 2];
    const found = await summary(Buffer.concat(order.map((index) => members[index]!)), "a.warc.gz");
    expect(found).toMatchObject({ pages: order, problems: [] });
  });

  test("members cut at arbitrary places, larger than the window: reading continues after the damaged one", async () => {
    const large = gzipBlocks(pages(40, 30_000), 200_000);
    const { pages: read, problems } = await summary(flipped(large, large.length >> 1), "a.warc.gz");
    expect(read.slice(0, 12)).toEqual(range(0, 12));
    expect(read.slice(-10)).toEqual(range(30, 40));
    expect(problems.length).toBeGreaterThan(0);
  });

  test("a member that begins within a record, and is longer than the file window: reading continues with it", async () => {
    const records = Buffer.concat(pages(120, 30_000));
    const third = records.length / 3;
    const [one, two, three] = [0, 1, 2].map((index) =>
      gzipSync(records.subarray(index * third, (index + 1) * third)),
    ) as [Buffer, Buffer, Buffer];
    // Only the checksum shows that `three` is a member, and the checksum is far beyond the window.
    expect(three.length).toBeGreaterThan(512 * 1024);
    const archive = Buffer.concat([one, flipped(two, 1_000), three]);
    const { pages: read, problems } = await summary(archive, "a.warc.gz");
    expect(read.slice(0, 39)).toEqual(range(0, 39));
    expect(read.slice(-39)).toEqual(range(81, 120));
    expect(problems).toContain(one.length);
  });

  test("a plain archive with damaged first bytes, with any name", async () => {
    const plain = Buffer.concat(pages(3));
    for (const name of ["a.warc", "a.warc.gz"]) {
      expect(await summary(flipped(plain, 0), name)).toMatchObject({ pages: [1, 2], problems: [0] });
    }
  });
});

describe("a truncated archive", () => {
  test.each([1, 5, 8, 9, 500, 1200])(
    "compressed, %i bytes short: the last page is missing and reported",
    async (short) => {
      const members = pages(4, 3000).map((record) => gzipSync(record));
      const archive = Buffer.concat(members);
      const {
        pages: read,
        problems,
        messages,
      } = await summary(archive.subarray(0, archive.length - short), "a.warc.gz");
      expect(read).toEqual([0, 1, 2]);
      expect(problems).toEqual([startsOf(members)[3]]);
      expect(messages[0]).toMatch(/truncated/);
    },
  );

  test("with one member: all complete records before the end are read", async () => {
    const records = pages(200, 3000);
    const archive = gzipWhole(records);
    const { pages: read, problems } = await summary(archive.subarray(0, archive.length >> 1), "a.warc.gz");
    expect(read.length).toBeGreaterThan(95);
    expect(read).toEqual(range(0, read.length));
    expect(problems).toEqual([0]);
  });

  test("plain, at any byte: complete records are read, and the rest is reported", async () => {
    const records = pages(3, 300);
    const archive = Buffer.concat(records);
    const starts = [...startsOf(records), archive.length];
    for (let size = 1; size < archive.length; size += 7) {
      if (starts.includes(size)) continue;
      const { pages: read, problems, messages } = await summary(archive.subarray(0, size));
      const whole = records.filter((_, index) => starts[index + 1]! - 4 <= size).length;
      expect(read, `${size} bytes: ${messages.join("; ")}`).toEqual(range(0, whole));
      const cut = starts.findLastIndex((start) => start < size);
      expect(problems, `${size} bytes`).toEqual([starts[cut]]);
    }
  });

  test("to an empty file", async () => {
    expect((await read(Buffer.alloc(0))).map(line)).toEqual(["problem @0 The file is empty"]);
  });
});

describe("one gzip member for the whole archive", () => {
  test("damaged in the middle: everything before it is read, and after it the records that match their digest", async () => {
    const archive = gzipWhole(pages(300, 3000));
    const { pages: read, problems } = await summary(flipped(archive, archive.length >> 1), "a.warc.gz");
    expect(read.slice(0, 140)).toEqual(range(0, 140));
    expect(read.length).toBeLessThan(300);
    expect(new Set(problems)).toEqual(new Set([0]));
  });

  test("damaged members that were cut at arbitrary places: reading continues with the next complete one", async () => {
    const archive = gzipBlocks(pages(40, 3000), 10_000);
    const { pages: read, problems } = await summary(flipped(archive, archive.length >> 1), "a.warc.gz");
    expect(read.slice(0, 15)).toEqual(range(0, 15));
    expect(read.slice(-15)).toEqual(range(25, 40));
    expect(read.length).toBeGreaterThan(33);
    expect(problems.length).toBeGreaterThan(0);
  });
});

describe("a wrong digest", () => {
  const good = pages(3);
  const forms = { plain: (records: Buffer[]) => Buffer.concat(records), gzip: gzipEach, whole: gzipWhole };

  test.each(Object.entries(forms))(
    "of the block (%s): that page is missing and reported",
    async (form, join) => {
      const wrong = page(pageUrl(9), "body", { fields: { "WARC-Block-Digest": sha1("another") } });
      const { pages, problems, messages } = await summary(
        join([good[0]!, wrong, good[1]!]),
        `a.${form}.warc`,
      );
      expect(pages).toEqual([0, 1]);
      expect(problems).toEqual([{ plain: good[0]!.length, gzip: gzipSync(good[0]!).length, whole: 0 }[form]]);
      expect(messages[0]).toMatch(/WARC-Block-Digest/);
    },
  );

  test("of the payload", async () => {
    const wrong = page(pageUrl(9), "body", { fields: { "WARC-Payload-Digest": sha1("another") } });
    const items = await read(Buffer.concat([good[0]!, wrong, good[1]!]));
    const [problem] = only(items, "problem");
    expect(problem).toMatchObject({ offset: good[0]!.length, url: pageUrl(9) });
    expect(problem?.message).toMatch(/WARC-Payload-Digest/);
    expect(only(items, "page")).toHaveLength(2);
  });

  test("one changed byte in the body of a plain archive", async () => {
    const at = good[0]!.length + good[1]!.length - 40;
    const { pages, problems } = await summary(flipped(Buffer.concat(good), at));
    expect(pages).toEqual([0, 2]);
    expect(problems).toEqual([good[0]!.length]);
  });
});

describe("an impossible length", () => {
  const [first, second] = pages(2) as [Buffer, Buffer];
  const forms = { plain: (records: Buffer[]) => Buffer.concat(records), gzip: gzipEach, whole: gzipWhole };
  const lengths = [
    "-1",
    "many",
    "1e3",
    "",
    "99999999999999999999",
    "999999999",
    "20000000",
    "400",
    "3",
    "0x10",
  ];

  describe.each(Object.entries(forms))("%s", (form, join) => {
    test.each(lengths)("Content-Length: %s", async (length) => {
      const wrong = page(pageUrl(9), "body", { fields: { "Content-Length": length } });
      const { pages, problems } = await summary(join([first, wrong, second]), `${form}.warc`);
      expect(pages).toEqual([0, 1]);
      expect(problems).toEqual([{ plain: first.length, gzip: gzipSync(first).length, whole: 0 }[form]]);
    });

    test("no length, and two different lengths", async () => {
      const none = page(pageUrl(8), "body", { fields: { "Content-Length": undefined } });
      const two = page(pageUrl(9), "body", { fields: { "content-length": "77" } });
      const found = await summary(join([first, none, second, two]), `${form}.warc`);
      expect(found.pages).toEqual([0, 1]);
      expect(found.problems).toHaveLength(2);
    });
  });
});

describe("text that is not a record", () => {
  test("text between records of a plain archive is reported once", async () => {
    const [first, second] = pages(2) as [Buffer, Buffer];
    const found = await summary(Buffer.concat([first, Buffer.from("no record\r\nat all\r\n\r\n"), second]));
    expect(found).toMatchObject({ pages: [0, 1], problems: [first.length] });
  });

  describe("a complete record before a damaged one", () => {
    const [first, second, third] = pages(3) as [Buffer, Buffer, Buffer];
    const junk = Buffer.from("no record\r\nat all\r\n\r\n");
    const headless = flipped(second, 1);
    const bare = (more: { [name: string]: string | undefined }, headers = {}) => {
      const body = `<title>0</title>${noise(0, 500)}`;
      const fields = { "WARC-Block-Digest": undefined, "WARC-Payload-Digest": undefined, ...more };
      return page(pageUrl(0), body, { block: http(body, headers), fields });
    };
    const body = `<title>0</title>${noise(0, 500)}`;
    const vouched = {
      "its block digest": first,
      "its payload digest": bare({ "WARC-Payload-Digest": sha1(body) }),
      "its HTTP Content-Length, without digests": bare({}, { "Content-Length": String(body.length) }),
    };
    const forms = { plain: (records: Buffer[]) => Buffer.concat(records), gzip: gzipEach, whole: gzipWhole };

    describe.each(Object.entries(vouched))("%s confirms it", (_, record) => {
      test.each(Object.entries(forms))("%s", async (form, join) => {
        for (const behind of [junk, headless]) {
          const found = await summary(join([record, behind, third]), `${form}.warc`);
          expect(found.pages).toEqual([0, 2]);
          const at = { plain: record.length, gzip: gzipSync(record).length, whole: 0 }[form]!;
          expect(found.problems, found.messages.join()).toEqual([at]);
          expect(found.messages[0]).toMatch(/No record begins here/);
        }
      });
    });

    test("a gzip member that ends with the record confirms it, without any digest", async () => {
      const found = await summary(gzipEach([bare({}), headless, third]));
      expect(found).toMatchObject({ pages: [0, 2], problems: [gzipSync(bare({})).length] });
    });

    test("nothing confirms it: its end cannot be known", async () => {
      const found = await summary(Buffer.concat([bare({}), junk, third]));
      expect(found).toMatchObject({ pages: [2], problems: [0] });
      const wrong = bare({}, { "Content-Length": "7" });
      expect(await summary(Buffer.concat([wrong, junk, third]))).toMatchObject({ pages: [2], problems: [0] });
    });
  });

  test("a header that is damaged or does not end", async () => {
    const [first, second, third] = pages(3) as [Buffer, Buffer, Buffer];
    const odd = Buffer.from(second.toString("latin1").replace("WARC-Date: ", "WARC-Date  "), "latin1");
    expect(await summary(gzipEach([first, odd, third]))).toMatchObject({
      pages: [0, 2],
      messages: [/cannot be read/],
    });
    const endless = gzipEach([first, Buffer.from(`WARC/1.1\r\n${"a: b\r\n".repeat(100_000)}`), third]);
    expect(await summary(endless)).toMatchObject({ pages: [0, 2], messages: [/does not end/] });
  });

  test("a page that contains the text of a record is not taken for one if its own record is damaged", async () => {
    const shown = page("https://example.org/fake", "<p>fake").toString().replaceAll("<", "&lt;");
    const [first, second] = pages(2) as [Buffer, Buffer];
    const wrong = page(pageUrl(9), `<pre>\n\n${shown}</pre>`, { fields: { "Content-Length": "7" } });
    expect(await summary(Buffer.concat([first, wrong, second]))).toMatchObject({
      pages: [0, 1],
      problems: [first.length],
    });
  });

  test("a file of another format", async () => {
    const { pages, problems } = await summary(Buffer.from(noise(1, 300_000)));
    expect(pages).toEqual([]);
    expect(problems).toEqual([0]);
    expect(await summary(gzipSync("something else"))).toMatchObject({ pages: [], problems: [0] });
  });
});

describe("more than fits into memory", () => {
  test("a page of 100 MB is reported and skipped without buffering it, and its neighbours are read", async () => {
    const huge = warcRecord({ url: pageUrl(9), block: http(Buffer.alloc(100_000_000, "<p>word ")) });
    const [first, second] = pages(2) as [Buffer, Buffer];
    for (const archive of [Buffer.concat([first, huge, second]), gzipEach([first, huge, second])]) {
      const { pages, messages } = await summary(archive);
      expect(pages).toEqual([0, 1]);
      expect(messages).toEqual([expect.stringMatching(/has 100\d{6} bytes; at most 9500000/)]);
    }
  });

  test("a long record that is not a page is skipped, but its digest is checked", async () => {
    const block = http(Buffer.alloc(20_000_000, 7), { "Content-Type": "video/mp4" });
    const film = warcRecord({ url: pageUrl(8), block });
    const wrong = warcRecord({ url: pageUrl(9), block, fields: { "WARC-Block-Digest": sha1("x") } });
    expect((await read(Buffer.concat([film, wrong]))).map(line)).toEqual([
      `skipped ${pageUrl(8)}`,
      `problem @${film.length} The record's block does not have its WARC-Block-Digest`,
    ]);
  });

  test("a body that would inflate without limit is reported", async () => {
    const bomb = gzipSync(Buffer.alloc(12_000_000));
    const record = warcRecord({ url: pageUrl(9), block: http(bomb, { "Content-Encoding": "gzip" }) });
    const { pages: read, messages } = await summary(gzipEach([record, ...pages(1)]));
    expect(read).toEqual([0]);
    expect(messages[0]).toMatch(/inflates to more than 9500000 bytes/);
  });
});

test("other readers can read what this writer makes", () => {
  const record = pages(1)[0]!;
  expect(gunzipSync(gzipEach([record, record])).toString()).toBe(record.toString().repeat(2));
});
