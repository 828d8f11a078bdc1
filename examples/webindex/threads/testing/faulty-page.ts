/** A thread that ends when it reads a page that names a file, unless the file exists. For tests. */
import { existsSync, writeFileSync } from "node:fs";
import { describePage } from "../../derive.js";
import type { PageTask } from "../describe-page.js";

// biome-ignore lint/style/noDefaultExport: what a thread of the pool calls
export default ({ packed, url }: PageTask) => {
  const file = /exits unless there is (\S+)/.exec(Buffer.from(packed).toString())?.[1];
  if (file !== undefined && !existsSync(file)) {
    writeFileSync(file, "");
    process.exit(1);
  }
  return describePage(packed, url);
};
