import type { Environment } from "../../environment/index.js";
import type { Observer } from "../../observer/index.js";
import type { AnyTable } from "../../schema/index.js";
import type { ReportSource } from "../sources/source.js";
import type { TokenSource } from "./access.js";

/** What {@link dashboardHandler} takes. */
export interface DashboardHandlerOptions {
  /** The path under which it is served, such as `/dashboard/`. Default: `/`. */
  readonly base?: string | undefined;
  /**
   * What a client must send, at least 16 characters. A function is asked at each request, so that the token may change; a changed one ends
   * the sessions of browsers. Default: none, and only this machine is answered.
   */
  readonly token?: TokenSource | undefined;
  /** Names by which it is called besides those of loopback: what a proxy before it gives as `Host`. Default: none. */
  readonly hosts?: readonly string[] | undefined;
  /** Whether parked changes may be retried and discarded, and locks resolved. Default: false. */
  readonly writable?: boolean | undefined;
  /** Tables whose codecs the database does not know: those with codecs of the program's own. Default: none. */
  readonly tables?: readonly AnyTable[] | undefined;
  /** Observers, for the tables that they watch. Default: none. */
  readonly observers?: readonly Observer[] | undefined;
  /** Dashboards of other processes whose transactions are shown too, such as `http://10.0.0.7:4180/`. Default: none. */
  readonly from?: readonly string[] | undefined;
  /** The token that those ask for. Default: `token`. */
  readonly fromToken?: TokenSource | undefined;
  /** The database as the command line takes it, for the commands that views show. Default: as the store calls itself. */
  readonly location?: string | undefined;
  /** The folder of the built pages. Default: those of this package. */
  readonly pages?: string | undefined;
  readonly environment?: Environment | undefined;
  /** Added to every sample of `/metrics`. Default: none. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /**
   * Who tells what processes have seen, in place of this process itself.
   *
   * @internal
   */
  readonly sources?: readonly ReportSource[] | undefined;
}

/** What {@link serveDashboard} takes. */
export interface DashboardOptions extends Omit<DashboardHandlerOptions, "base"> {
  /** Default: 127.0.0.1, so that only this machine reaches it. Any other needs a `token`. */
  readonly host?: string | undefined;
  /** Default: 0, a free one. */
  readonly port?: number | undefined;
}
