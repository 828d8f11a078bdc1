/** What a thread of {@link PageThreads} runs. It reads a page, and knows nothing of the database. */
import { type Description, describePage } from "../derive.js";

export interface PageTask {
  /** As in `documents.contents`. */
  readonly packed: Uint8Array;
  readonly url: string;
}

// biome-ignore lint/style/noDefaultExport: what a thread of the pool calls
export default ({ packed, url }: PageTask): Description => describePage(packed, url);
