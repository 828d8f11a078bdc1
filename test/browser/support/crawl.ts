import { serveDashboard } from "percolatordb/dashboard";
import { openSource } from "../../../examples/webindex/sources/index.js";
import { WebIndex } from "../../../examples/webindex/webindex.js";
import { temporaryFolder } from "../../support/databases.js";

/** The web index with its dashboard, for pictures during a load. */
export interface Crawl {
  readonly url: string;
  /** Starts the load, and waits for the first pages. */
  load(): Promise<void>;
  close(): Promise<void>;
}

/** Pages to load before the pictures are taken. */
const firstPages = 1_500;
/** The same value as in `npm run webindex`. */
const settleEvery = 500;

/** Opens an empty index. `archive` is the file that `load` reads. */
export async function startCrawl(archive: string, pages: string): Promise<Crawl> {
  const folder = await temporaryFolder();
  const index = await WebIndex.open(folder.path);
  const dashboard = await serveDashboard(index.db, { location: "./webindex-data", writable: true, pages });
  const ending = new AbortController();
  let loading: Promise<unknown> = Promise.resolve();
  return {
    url: dashboard.url,
    async load() {
      const source = await openSource(archive, { signal: ending.signal });
      await new Promise<void>((resolve, reject) => {
        const onItem = (_: unknown, { pages: loaded }: { readonly pages: number }) => {
          if (loaded >= firstPages) resolve();
        };
        loading = index.load(source, { settleEvery, signal: ending.signal, onItem });
        loading.then(() => resolve(), reject);
      });
      loading.catch(() => undefined);
    },
    async close() {
      ending.abort();
      await loading.catch(() => undefined);
      await dashboard.close();
      await index.close();
      await folder.remove();
    },
  };
}
