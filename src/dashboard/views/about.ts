import { packageManifest } from "../../environment/index.js";
import type { About } from "../api.js";
import type { ViewContext } from "./context.js";

/** What the dashboard shows, and what it allows. */
export async function about(context: ViewContext): Promise<About> {
  const status = await context.db.status();
  return {
    version: packageManifest().version,
    location: context.location ?? status.store,
    store: status.store,
    commit: status.commit,
    retentionMs: status.retentionMs,
    writable: context.writable,
    reach: context.reach,
    now: Math.round(context.environment.now()),
  };
}
