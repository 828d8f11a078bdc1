/** The kinds of text that can be read. */
export type Media = "html" | "markdown" | "text";

const byType = new Map<string, Media>([
  ["text/html", "html"],
  ["application/xhtml+xml", "html"],
  ["text/markdown", "markdown"],
  ["text/x-markdown", "markdown"],
  ["text/plain", "text"],
]);

const byExtension = new Map([
  ["html", "text/html"],
  ["htm", "text/html"],
  ["md", "text/markdown"],
  ["markdown", "text/markdown"],
]);

/**
 * Returns the media type of a Content-Type, without parameters, in lower case. `""` if there is
 * none.
 */
export function essence(contentType: string): string {
  return contentType.split(";", 1)[0]!.trim().toLowerCase();
}

/** Returns the kind of text of a Content-Type, or `undefined` for all other types. */
export function mediaOf(contentType: string): Media | undefined {
  return byType.get(essence(contentType));
}

/** Returns the Content-Type of a file by its name, or `undefined` if the file is not read. */
export function contentTypeOfFile(name: string): string | undefined {
  const dot = name.lastIndexOf(".");
  return dot <= 0 ? undefined : byExtension.get(name.slice(dot + 1).toLowerCase());
}

const otherExtensions = new Set(
  (
    "7z apk avi avif bin bmp bz2 css cur deb dmg doc docx eot exe gif gz ico iso jar jpeg jpg js json m4a m4v map mjs mov " +
    "mp3 mp4 mpeg mpg msi ogg ogv otf pdf png ppt pptx rar rpm svg swf tar tgz tif tiff ttf wasm wav webm webmanifest webp " +
    "woff woff2 xls xlsx xml xz zip"
  ).split(" "),
);

/**
 * Whether the path of a URL ends like that of an image, style or script. This is only a guess: a
 * page may have such a name too.
 */
export function isNamedAsNoPage(url: string): boolean {
  const path = /^[^?]*/.exec(url)![0];
  const dot = path.lastIndexOf(".");
  return dot > path.lastIndexOf("/") && otherExtensions.has(path.slice(dot + 1).toLowerCase());
}

/** Returns the charset of a Content-Type, in lower case. */
export function charsetOf(contentType: string): string | undefined {
  return /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(contentType)?.[1]?.toLowerCase();
}

const lookAt = 1024;

/**
 * Whether these bytes are not text, whatever their Content-Type: they contain NUL bytes or many
 * control characters.
 */
export function looksBinary(body: Uint8Array, contentType: string): boolean {
  const wide = (body[0] === 0xff && body[1] === 0xfe) || (body[0] === 0xfe && body[1] === 0xff);
  if (wide || /^utf-?(16|32)/.test(charsetOf(contentType) ?? "")) return false;
  const beginning = body.subarray(0, lookAt);
  let controls = 0;
  for (const byte of beginning) {
    if (byte === 0) return true;
    if (byte < 32 && !(byte >= 9 && byte <= 13) && byte !== 27) controls++;
  }
  return controls * 10 > beginning.length;
}

/** Guesses the Content-Type of a body without one. */
export function sniffContentType(body: Uint8Array): string {
  const beginning = Buffer.from(body.buffer, body.byteOffset, Math.min(body.length, lookAt)).toString(
    "latin1",
  );
  return /^(?:\xef\xbb\xbf)?\s*<(?:!doctype|!--|\?xml|[a-z])/i.test(beginning) ? "text/html" : "text/plain";
}
