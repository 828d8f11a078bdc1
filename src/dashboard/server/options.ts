import type { Environment } from "../../environment/index.js";
import type { Observer } from "../../observer/index.js";
import type { AnyTable } from "../../schema/index.js";
import type { ReportSource } from "../sources/source.js";

/** A token. A function is called at each request, so that the token can change. */
export type TokenSource = string | (() => string | undefined);

/** Options of {@link dashboardHandler}. */
export interface DashboardHandlerOptions {
  /** The path under which the dashboard is served, such as `/dashboard/`. Default: `/`. */
  readonly base?: string | undefined;
  /**
   * The token that a client must send, at least 16 characters. A function is called at each
   * request, so that the token can change. A changed token ends the sessions of browsers. Default:
   * none. Without a token, the dashboard answers only this machine.
   */
  readonly token?: TokenSource | undefined;
  /**
   * Host names under which clients reach the dashboard, in addition to those of loopback. Give the
   * name that a proxy sends in `Host`. Default: none.
   */
  readonly hosts?: readonly string[] | undefined;
  /** Whether parked changes may be retried and discarded, and locks resolved. Default: false. */
  readonly writable?: boolean | undefined;
  /** Tables with codecs of the program's own, which the database cannot know. Default: none. */
  readonly tables?: readonly AnyTable[] | undefined;
  /** Observers. The dashboard uses only the tables that they watch. Default: none. */
  readonly observers?: readonly Observer[] | undefined;
  /**
   * Addresses of other dashboards whose transactions this one shows too, such as
   * `http://10.0.0.7:4180/`. Default: none.
   */
  readonly from?: readonly string[] | undefined;
  /** The token of those dashboards. Default: `token`. */
  readonly fromToken?: TokenSource | undefined;
  /**
   * The location of the database as the command line takes it, for the commands that views show.
   * Its password is not shown. Default: the name that the store gives itself.
   */
  readonly location?: string | undefined;
  /** The folder of the built pages. Default: the pages of this package. */
  readonly pages?: string | undefined;
  readonly environment?: Environment | undefined;
  /** Labels added to every sample of `/metrics`. Default: none. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /**
   * For `/readyz`, as in `MetricsServerOptions`.
   *
   * @internal
   */
  readonly unready?: (() => string | undefined) | undefined;
  /**
   * Sources of reports, used instead of this process itself.
   *
   * @internal
   */
  readonly sources?: readonly ReportSource[] | undefined;
}

/** Options of {@link serveDashboard}. */
export interface DashboardOptions extends Omit<DashboardHandlerOptions, "base"> {
  /** Default: 127.0.0.1, which only this machine reaches. Any other host needs a `token`. */
  readonly host?: string | undefined;
  /** Default: 0, which takes a free port. */
  readonly port?: number | undefined;
}
