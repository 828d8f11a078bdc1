import type { Database } from "../../database/index.js";
import { type LiveDatabase, liveQuery, liveResponse } from "../../live/http/index.js";
import { definition, parseRowText } from "../../schema/index.js";
import type { ViewContext } from "../views/context.js";
import type { Parameters } from "../views/parameters.js";
import { type AppContext, goneSignal } from "./until-gone.js";

/** Pages that follow a row at the same time. */
const maxFollowed = 100;

/**
 * What `liveResponse` reads from, by database. It counts the clients of each such object, so pages do
 * not share a count with the program's own clients.
 */
const followed = new WeakMap<Database, LiveDatabase>();

function followedOf(db: Database): LiveDatabase {
  let live = followed.get(db);
  if (live === undefined) {
    live = {
      get isClosed() {
        return db.isClosed;
      },
      live: (read, options) => db.live(read, options),
    };
    followed.set(db, live);
  }
  return live;
}

/**
 * `GET api/row/live`: tells a page when the row that it shows has changed, as server-sent events with
 * the timestamp of what has changed. The page then asks for the row.
 */
export async function rowChanges(
  { db, environment }: ViewContext,
  given: Parameters,
  request: Request,
): Promise<Response> {
  const table = await given.table();
  const key = parseRowText(table[definition], given.needed("row"));
  const query = liveQuery(async (snapshot) => {
    await snapshot.row(table, key);
    // Each run has a new timestamp, and there is a run only if the row has changed.
    return snapshot.timestamp;
  });
  return await liveResponse(followedOf(db), query, request, {
    environment,
    throttleMs: 250,
    maxConnections: maxFollowed,
  });
}

/** The request again, with a signal that also ends its response when the dashboard is closed. */
export function endedBy(c: AppContext, closing: AbortSignal): Request {
  const { url, headers } = c.req.raw;
  return new Request(url, { headers, signal: goneSignal(c, closing).signal });
}
