import fc from "fast-check";
import iconv from "iconv-lite";
import { describe, expect, test } from "vitest";
import { limits } from "./document.js";
import { extract } from "./extract.js";

const url = "https://example.org/a/page.html";
const read = (body: Uint8Array | string, type = "text/html") => extract(Buffer.from(body), type, url);

describe("charsets", () => {
  test.each([
    ["utf-8", "text/html; charset=utf-8", "", "héllo €"],
    ["utf-8", "text/html", "<meta charset=utf-8>", "héllo €"],
    ["utf-8", "text/html", "", "héllo €"],
    ["windows-1252", "text/html", "", "héllo €"],
    ["windows-1252", 'text/html;Charset="ISO-8859-1"', "<meta charset=utf-8>", "héllo €"],
    [
      "windows-1251",
      "text/html",
      '<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">',
      "привет",
    ],
    ["shift_jis", "text/html; charset=shift_jis", "", "日本語"],
    ["koi8-r", "text/html; charset=koi8-r", "", "привет"],
    ["gb18030", "text/html", "<meta charset=gb18030>", "中文"],
    ["utf-16le", "text/html; charset=utf-16le", "", "héllo"],
  ])("%s by %s %s", (charset, type, meta, text) => {
    expect(read(iconv.encode(`${meta}<p>${text}`, charset), type)).toMatchObject({ text, charset });
  });

  test("a byte order mark takes precedence over a declaration", () => {
    for (const charset of ["utf-8", "utf-16le", "utf-16be"]) {
      const body = iconv.encode("<p>héllo", charset, { addBOM: true });
      expect(read(body, "text/html; charset=windows-1251")).toMatchObject({ text: "héllo", charset });
    }
  });

  test("ISO-2022-JP", () => {
    const body = Buffer.from("<p>\x1b$B$3$s\x1b(B", "latin1");
    expect(read(body, "text/html; charset=iso-2022-jp").text).toBe("こん");
  });

  test.each(["nonsense", "x-user-defined", "replacement", "utf-7", "base64", "hex", "cp850", "", "utf-16"])(
    "wrongly declared as %j: no exception, and text",
    (charset) => {
      expect(typeof read("<p>héllo", `text/html; charset=${charset}`).text).toBe("string");
      expect(typeof read(`<meta charset="${charset}"><p>héllo`).text).toBe("string");
    },
  );

  test("bytes that are invalid in the declared encoding", () => {
    expect(read(Buffer.from("<p>h\xe9llo", "latin1"), "text/html; charset=utf-8").text).toBe("h\ufffdllo");
  });
});

test("Markdown: title, text, links of every kind, HTML within", () => {
  const markdown = `Intro with [a *link*](b.md "t"), [ref][r], <https://example.org/auto> and https://example.org/bare.
# The **Title** #
- item \`code\` ![image](x.png)
\`\`\`js
[not](a-link)
\`\`\`
<p>html <a href="c.html">c</a></p><script>no()</script>

| a | b |
| - | - |
| 1 | [d](d.md#x) |

[r]: ref.md`;
  const { title, text, links } = read(markdown, "text/markdown");
  expect(title).toBe("The Title");
  expect(text).toBe(
    "Intro with a link, ref, https://example.org/auto and https://example.org/bare. The Title item code " +
      "[not](a-link) html c a b 1 d",
  );
  expect(links).toEqual([
    { url: "https://example.org/a/b.md", text: "a link" },
    { url: "https://example.org/a/ref.md", text: "ref" },
    { url: "https://example.org/auto", text: "https://example.org/auto" },
    { url: "https://example.org/bare", text: "https://example.org/bare" },
    { url: "https://example.org/a/c.html", text: "c" },
    { url: "https://example.org/a/d.md", text: "d" },
  ]);
});

test("Markdown: front matter is not text, and its title counts", () => {
  const { title, text } = read('---\nlayout: x\ntitle: "The title"\n---\n# Heading\n\ntext', "text/markdown");
  expect({ title, text }).toEqual({ title: "The title", text: "Heading text" });
  expect(read("---\ntext", "text/markdown").text).toBe("text");
  for (const [given, said] of [
    [" 'One' or 'two' \r", "One' or 'two"],
    [` "a" b${" ".repeat(300)}c`, '"a" b c'],
    [" ".repeat(19_000), "Heading"],
  ] as const)
    expect(read(`---\ntitle:${given}\n---\n# Heading`, "text/markdown").title.replace(/ +/g, " ")).toBe(said);
});

test.each([
  ["nested quotes", "> "],
  ["nested lists", "- "],
  ["brackets", "["],
  ["links that do not end", "[a](b"],
  ["images", "![]("],
  ["emphasis", "*a **a "],
  ["underscores", "x_"],
  ["strikes", "~a~~a "],
  ["code", "`a``"],
  ["HTML", "<a "],
  ["comments", "<!-- "],
  ["items", "- a\n"],
  ["fences", "```\n"],
  ["tables", "|a|\n|-|\n"],
  ["references", "[a]: b\n"],
  ["escapes", "\\"],
  ["setext", "a\n=\n"],
  ["indented", " "],
  ["autolinks", "www.a@b.c"],
])("Markdown that is slow to parse: %s", (_, piece) => {
  const { text } = read(piece.repeat(200_000 / piece.length), "text/markdown");
  expect(text.length).toBeLessThanOrEqual(limits.text);
});

test("plain text and unknown types: white space collapsed, no links", () => {
  for (const type of ["text/plain", "text/x-unknown", ""]) {
    expect(read(" <b>a \n https://example.org/b", type)).toMatchObject({
      title: "",
      text: "<b>a https://example.org/b",
      links: [],
      base: url,
    });
  }
  expect(read("word ".repeat(500_000), "text/plain")).toMatchObject({ truncatedText: true });
});

test("any bytes, of any declared type: a well-formed result that is the same every time", () => {
  const types = [
    "text/html",
    "text/markdown",
    "text/plain",
    "text/html; charset=utf-16",
    "text/html; charset=gbk",
  ];
  const pieces = fc.constantFrom(
    "<a href=",
    "<title>",
    "<svg>",
    "</",
    "&#xd800;",
    "\n# ",
    "](",
    "\ufeff",
    "<!--",
    "`",
  );
  const part = fc.oneof(
    fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
    pieces.map((piece) => Buffer.from(piece)),
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 30 }), fc.constantFrom(...types), (parts, type) => {
      const first = read(Buffer.concat(parts), type);
      for (const text of [first.title, first.text, ...first.links.flatMap((link) => [link.url, link.text])]) {
        expect(Buffer.from(text).toString()).toBe(text);
      }
      expect(read(Buffer.concat(parts), type)).toEqual(first);
    }),
    { numRuns: 300, seed: 1 },
  );
});
