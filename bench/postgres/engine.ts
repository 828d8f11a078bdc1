import { join } from "node:path";
import { withFolder } from "../harness/program.js";
import { FlushTimer } from "./flushes.js";
import { settings } from "./schema.js";
import { locationOn, postmasterOf, withServer } from "./server.js";

/** An empty database of percolatordb. */
export interface Place {
  /** For `open`. */
  readonly location: string;
  /** The process of its server. Undefined if it has none. */
  readonly server: number | undefined;
  /** Times flushes of the disk that has the database. */
  timeFlushes(): Promise<FlushTimer>;
}

/** Where percolatordb keeps a database. */
export interface Engine {
  readonly name: string;
  /** Runs `use` with a new database, and removes it afterwards. */
  withPlace<T>(use: (place: Place) => Promise<T>): Promise<T>;
}

/** A folder, with a flush for each commit. */
export const inFolder: Engine = {
  name: "percolatordb",
  withPlace: (use) =>
    withFolder("peer", (folder) =>
      use({
        location: join(folder, "database"),
        server: undefined,
        timeFlushes: () => FlushTimer.start(folder),
      }),
    ),
};

/** A PostgreSQL server with the other side's settings. */
export const onPostgres: Engine = {
  name: "percolatordb on PostgreSQL",
  withPlace: (use) =>
    withServer(settings, (server) =>
      withFolder("peer", (folder) =>
        use({
          location: locationOn(server),
          server: postmasterOf(server),
          timeFlushes: () => FlushTimer.start(folder),
        }),
      ),
    ),
};
