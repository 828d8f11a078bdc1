/** What a thread runs. It knows nothing of the database: bytes come in, and bytes go out. */
import { marked } from "marked";
import { move } from "piscina";

export interface Rendering {
  /** UTF-8. */
  readonly markdown: Uint8Array;
}

/** Renders Markdown as HTML, in UTF-8. */
export function render({ markdown }: Rendering): Uint8Array {
  const html = marked.parse(new TextDecoder().decode(markdown), { async: false });
  return new TextEncoder().encode(html);
}

// biome-ignore lint/style/noDefaultExport: what a thread of the pool calls
export default (task: Rendering) => move(render(task));
