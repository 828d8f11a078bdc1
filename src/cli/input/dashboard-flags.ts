import type { Command } from "commander";
import type { DashboardOptions } from "../../dashboard/index.js";
import type { Cli } from "../cli.js";
import { parsedBy } from "../command.js";
import { type ListenAddress, parseListen } from "./listen.js";
import type { App } from "./module.js";
import { watchedToken } from "./token-file.js";

/** How a worker's dashboard is to be served. */
export interface DashboardFlags {
  readonly dashboard?: ListenAddress | undefined;
  readonly dashboardTokenFile?: string | undefined;
  readonly dashboardWritable?: boolean | undefined;
}

/** The flags with which a worker is told so. */
export function addDashboardFlags(command: Command): Command {
  return command
    .option(
      "--dashboard <[host:]port>",
      "serve the dashboard there; with --processes one for all of them (default host: 127.0.0.1)",
      parsedBy(parseListen("--dashboard")),
    )
    .option("--dashboard-token-file <file>", dashboardTokenHelp)
    .option("--dashboard-writable", dashboardWritableHelp);
}

export const dashboardTokenHelp =
  "holds the token that the dashboard asks for; needed where it listens beyond this machine";
export const dashboardWritableHelp = "let the dashboard retry and discard parked changes, and resolve locks";

/** What the server of a dashboard is to be told. */
export async function dashboardOptions(
  cli: Cli,
  location: string,
  app: App | undefined,
  { dashboard: address, dashboardTokenFile, dashboardWritable }: DashboardFlags,
): Promise<DashboardOptions> {
  return {
    ...address,
    location,
    token: await watchedToken(cli, "--dashboard-token-file", dashboardTokenFile),
    writable: dashboardWritable ?? false,
    tables: app?.tables,
    observers: app?.observers,
    environment: cli.environment,
  };
}
