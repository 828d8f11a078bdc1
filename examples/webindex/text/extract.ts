import { cut, decodeText } from "./charset.js";
import { type Content, collapse, type Document, limits } from "./document.js";
import { readHtml } from "./html.js";
import { readMarkdown } from "./markdown.js";
import { mediaOf } from "./media.js";
import { type Parts, whole } from "./parts.js";

/**
 * Extracts title, text and links of a page. The result depends only on the arguments and is limited
 * by {@link limits}. Never throws, whatever the bytes. Types other than HTML and Markdown are read
 * as plain text.
 *
 * @param contentType as the server sent it; `charset` counts as HTML specifies.
 * @param url the page's own URL, normalised: relative links are resolved against it, links to it
 * are left out.
 */
export function extract(body: Uint8Array, contentType: string, url: string): Document {
  return whole(extractInParts(body, contentType, url));
}

/** As {@link extract}, in parts. */
export function* extractInParts(body: Uint8Array, contentType: string, url: string): Parts<Document> {
  const { text, charset } = decodeText(body, contentType);
  return { ...(yield* read(text, contentType, url)), charset };
}

function* read(text: string, contentType: string, url: string): Parts<Content> {
  const media = mediaOf(contentType);
  if (media === "html") return yield* readHtml(text, url);
  if (media === "markdown") return yield* readMarkdown(text, url);
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
