/**
 * Each observer of `examples/webindex/observers` as a task: the same steps in set-based SQL, for
 * many rows at a time. `invert` is a task of its own, so that one statement writes the links of many
 * pages.
 */
import type { Session } from "../session.js";
import { cluster, relink } from "./cluster.js";
import { extract } from "./extract.js";
import { indexPages } from "./index-page.js";
import { invert } from "./invert.js";
import { merge } from "./merge.js";
import type { TaskName } from "./names.js";

export const steps: Readonly<Record<TaskName, (session: Session, keys: readonly string[]) => Promise<void>>> =
  { extract, invert, cluster, index: indexPages, relink, merge };
