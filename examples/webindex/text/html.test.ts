import { describe, expect, test } from "vitest";
import { limits } from "./document.js";
import { readHtml } from "./html.js";
import { partLength, whole } from "./parts.js";
import { maxUrlBytes } from "./url.js";

const url = "https://example.org/a/page.html";
const read = (html: string, of = url) => whole(readHtml(html, of));
const links = (html: string) => read(html).links.map((link) => link.url);

describe("text", () => {
  test("the visible text: entities decoded, white space collapsed, words not split by inline tags", () => {
    const html = `<!doctype html><html><head><title>T &amp; U</title><style>no{}</style></head><body>
      <h1>Head</h1><p>one<b>two</b> thr&eacute;e<br>four<div>five</div>six<td>seven</td><script>no()</script>
      <noscript>no</noscript><template><p>no</template><svg><title>no</title><text>no</text></svg>
      <!-- no --><textarea>a &lt;b&gt;</textarea> &#x1F600;&#xD800;</body></html>`;
    const { title, text } = read(html);
    expect(title).toBe("T & U");
    expect(text).toBe("Head onetwo thrée four five six seven a <b> 😀\ufffd");
  });

  test("unclosed elements: a script hides the rest, but an svg and a noscript do not hide the page", () => {
    expect(read("a<script>no <p>no").text).toBe("a");
    expect(read("a<svg><path/><g>no<p>b").text).toBe("a b");
    expect(read("a<noscript>no</body>b").text).toBe("a b");
    expect(read("a<svg/>b<template>x<template>y</template>z</template>c").text).toBe("a b c");
    expect(read("a<p title='>'>b</p").text).toBe("a b");
  });

  test("the title is the first title, or else the first heading, or empty", () => {
    expect(read("<title> a\n b </title><title>c</title>").title).toBe("a b");
    expect(read("<title></title><h1>a <i>b</i></h1><h1>c</h1>").title).toBe("a b");
    expect(read("<p>a").title).toBe("");
    expect(read(`<title>${"😀".repeat(limits.title)}</title>`).title.length).toBe(limits.title);
  });
});

describe("links", () => {
  test("resolved against the page, without fragments, only to the web, and never to the page itself", () => {
    const html = `<a href="b.html#x">b</a><a href='/c?d=1&amp;e=2'>c</a><a href=//other.org:443/>o</a><A HREF="
      d.html ">d</A><a href="#x">self</a><a href="">self</a><a href="page.html">self</a><a href="mailto:a@b.c">m</a>
      <a href="javascript:x()">j</a><a href="file:///etc">f</a><a href="http://[">bad</a><a>none</a><a name=x>n</a>
      <a href="b.html">b</a><a href="d #x">space</a>`;
    expect(links(html)).toEqual([
      "https://example.org/a/b.html",
      "https://example.org/c?d=1&e=2",
      "https://other.org/",
      "https://example.org/a/d.html",
      "https://example.org/a/b.html",
      "https://example.org/a/d%20",
    ]);
  });

  test("resolved against the first declared base, wherever it is", () => {
    const html = `<a href="b">b</a><base target="x"><base href="/c/"><base href="/d/"><a href="e">e</a>`;
    expect(links(html)).toEqual(["https://example.org/c/b", "https://example.org/c/e"]);
    expect(read(html).base).toBe("https://example.org/c/");
    expect(read('<base href="javascript:x"><a href="b">b</a>').base).toBe(url);
  });

  test("anchor texts, including those of images; an area, repeated links, nofollow", () => {
    const html = `<a href=b>one <b>two</b><img src=x alt="three &amp; four"> <p>five</p></a> no
      <a rel=nofollow href=b>six<a href=c>seven</a><area href=d><script>no</script>eight`;
    expect(read(html).links).toEqual([
      { url: "https://example.org/a/b", text: "one two three & four five" },
      { url: "https://example.org/a/b", text: "six" },
      { url: "https://example.org/a/c", text: "seven" },
      { url: "https://example.org/a/d", text: "" },
    ]);
  });

  test("pages of one scheme may link to each other", () => {
    expect(
      read('<a href="b.md">b</a><a href="file:///c">c</a>', "npm:/p/a.md").links.map((link) => link.url),
    ).toEqual(["npm:/p/b.md"]);
    expect(read('<a href="b.html">b</a>', "file:///x/a.html").links[0]?.url).toBe("file:///x/b.html");
  });

  test("links that are too long to be indexed are left out", () => {
    expect(links(`<a href="/${"a".repeat(maxUrlBytes)}">a</a><a href=b>b</a>`)).toEqual([
      "https://example.org/a/b",
    ]);
    expect(links(`<a href="${" ".repeat(limits.href)}x">a</a>`)).toEqual([]);
  });

  test("a base that is too long for a link is ignored", () => {
    expect(links(`<base href="/${"b/".repeat(limits.href)}"><a href=b>b</a>`)).toEqual([
      "https://example.org/a/b",
    ]);
  });
});

describe("limits", () => {
  test("a million links", () => {
    const html = Array.from({ length: 1_000_000 }, (_, index) => `<a href=${index}>`).join("");
    const found = read(html);
    expect(found.links).toHaveLength(limits.links);
    expect(found).toMatchObject({ truncatedLinks: true, truncatedText: false });
  });

  test("very long text", () => {
    const found = read(`<title>${"t ".repeat(1_000_000)}</title><h1>${"word ".repeat(1_000_000)}`);
    expect(found.text.length).toBeLessThanOrEqual(limits.text);
    expect(found.text.length).toBeGreaterThan(limits.text - 10);
    expect(found).toMatchObject({ truncatedLinks: false, truncatedText: true });
    expect(read(" \n".repeat(2_000_000)).truncatedText).toBe(false);
  });

  test.each([
    ["nested elements", "<div>"],
    ["nested inline elements", "<b>"],
    ["nested drawings", "<svg>"],
    ["nested templates", "<template>"],
    ["open anchors", "<a href=x>"],
    ["open comments", "<!--"],
    ["open tags", "<a "],
    ["attributes", " a=b"],
    ["entities", "&amp"],
    ["closing tags", "</p>"],
    ["open headings", "<h1>"],
    ["lone brackets", "<"],
  ])("%s, megabytes of them", (_, piece) => {
    const html = piece.repeat(3_000_000 / piece.length);
    expect(read(html).links.length).toBeLessThanOrEqual(limits.links);
    expect(read(`<p ${html}`).text.length).toBeLessThanOrEqual(limits.text);
  });

  test("one attribute of several megabytes", () => {
    expect(read(`<a href="${"&amp;".repeat(1_000_000)}">a</a>`).links).toEqual([]);
  });
});

test("a page is read the same, wherever its parts end", () => {
  const piece =
    '<h1>a  b&eacute;&#x1F600;\ud83d\ude00</h1> \n <p title="x>y">c<b>d</b>\n\n<a href="/t?a=1&amp;b#f"> to <img alt="it"></a>' +
    "<!-- no <p> -->e<script>if (a < b) no()</script><svg><p/></svg> </p>\t<textarea> f </textarea> ";
  const { text, title, links } = read(piece);
  for (let before = 0; before <= piece.length; before++) {
    const padding = "x".repeat(partLength - before - 4);
    const found = read(`<!-- ${padding.slice(8)}-->${piece}`);
    expect({ ...found }).toMatchObject({ text, title, links });
    const after = read(`<p>${padding} ${piece}`).text;
    expect(after.startsWith(`${padding} `)).toBe(true);
    expect(after.slice(padding.length + 1)).toBe(text);
  }
});
