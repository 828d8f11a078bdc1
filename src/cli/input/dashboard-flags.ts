import type { Command } from "commander";
import type { DashboardOptions } from "../../dashboard/index.js";
import { isPostgres } from "../../database/index.js";
import type { Cli } from "../cli.js";
import { parsedBy } from "../command.js";
import { type ListenAddress, listenText, parseListen } from "./listen.js";
import type { App } from "./module.js";
import { watchedToken } from "./token-file.js";

/** The flags by which a user tells a worker to serve a dashboard. */
export interface DashboardFlags {
  readonly dashboard?: ListenAddress | undefined;
  readonly dashboardTokenFile?: string | undefined;
  readonly dashboardWritable?: boolean | undefined;
}

/** Adds these flags to a command. */
export function addDashboardFlags(command: Command): Command {
  return command
    .option(
      "--dashboard <[host:]port>",
      "serve the dashboard at this address; with --processes, one for all of them (default host: 127.0.0.1)",
      parsedBy(parseListen("--dashboard")),
    )
    .option("--dashboard-token-file <file>", dashboardTokenHelp)
    .option("--dashboard-writable", dashboardWritableHelp);
}

export const dashboardTokenHelp =
  "file with the token that the dashboard asks for; needed if it listens beyond this machine";
export const dashboardWritableHelp = "let the dashboard retry and discard parked changes, and resolve locks";

/** Returns the flags as arguments of another process's command line. */
export function dashboardArguments(flags: DashboardFlags): readonly string[] {
  const { dashboard, dashboardTokenFile, dashboardWritable } = flags;
  return [
    ...(dashboard === undefined ? [] : ["--dashboard", listenText(dashboard)]),
    ...(dashboardTokenFile === undefined ? [] : ["--dashboard-token-file", dashboardTokenFile]),
    ...(dashboardWritable ? ["--dashboard-writable"] : []),
  ];
}

/** Returns the options for the dashboard's server. */
export async function dashboardOptions(
  cli: Cli,
  location: string,
  app: App | undefined,
  { dashboard: address, dashboardTokenFile, dashboardWritable }: DashboardFlags,
): Promise<DashboardOptions> {
  return {
    ...address,
    // A location on PostgreSQL may hold a password. The store's description does not.
    location: isPostgres(location) ? undefined : location,
    token: await watchedToken(cli, "--dashboard-token-file", dashboardTokenFile),
    writable: dashboardWritable ?? false,
    tables: app?.tables,
    observers: app?.observers,
    environment: cli.environment,
  };
}
