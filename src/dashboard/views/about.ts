import { packageManifest } from "../../environment/index.js";
import type { About } from "../api/index.js";
import type { View } from "./context.js";

/** What the dashboard shows, and what it allows. */
export const about: View<About> = async ({ db, environment, location, writable, reach }) => {
  const { store, commit, retentionMs } = await db.status();
  return {
    version: packageManifest().version,
    location: location ?? store,
    store,
    commit,
    retentionMs,
    writable,
    reach,
    now: Math.round(environment.now()),
  };
};
