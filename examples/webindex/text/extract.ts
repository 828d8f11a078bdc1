import { cut, decodeText } from "./charset.js";
import { type Content, collapse, type Document, limits } from "./document.js";
import { readHtml } from "./html.js";
import { readMarkdown } from "./markdown.js";
import { mediaOf } from "./media.js";

/**
 * Title, text and links of a page. A function of its arguments alone; never throws, whatever the
 * bytes; bounded by {@link limits}. What is neither HTML nor Markdown is taken as plain text.
 *
 * @param contentType as the server sent it; `charset` counts as HTML says.
 * @param url the page's own, normalised: relative links are resolved against it, links to it are left out.
 */
export function extract(body: Uint8Array, contentType: string, url: string): Document {
  const { text, charset } = decodeText(body, contentType);
  return { ...read(text, contentType, url), charset };
}

function read(text: string, contentType: string, url: string): Content {
  const media = mediaOf(contentType);
  if (media === "html") return readHtml(text, url);
  if (media === "markdown") return readMarkdown(text, url);
  const collapsed = collapse(text);
  return {
    title: "",
    text: cut(collapsed, limits.text).trimEnd(),
    links: [],
    base: url,
    truncatedText: collapsed.length > limits.text,
    truncatedLinks: false,
  };
}
