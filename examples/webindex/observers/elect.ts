import { observer } from "percolatordb";
import { clusters, memberUrl } from "../tables.js";
import { setCanonical } from "./cluster.js";
import { indexPage } from "./index-page.js";
import { Seen } from "./seen.js";

/**
 * Elects the canonical page of a large cluster again after some of its members have moved, and
 * indexes it.
 */
export const elect = observer(
  "elect",
  clusters.elect,
  async (tx, { row: hash }) => {
    let now: string | undefined;
    for await (const { qualifier } of tx.entries(clusters.members, hash, { limit: 1 })) {
      now = memberUrl(qualifier);
    }
    const before = await tx.get(clusters.canonical, hash);
    setCanonical(tx, hash, now);
    const seen = new Seen(tx);
    if (before !== undefined && before !== now) await indexPage(tx, before, seen, "all");
    if (now !== undefined) await indexPage(tx, now, seen, "all");
  },
  { priority: 2 },
);
