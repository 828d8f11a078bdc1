import type { Command } from "commander";
import { loadServing } from "../../../dashboard/index.js";
import { aborted } from "../../aborted.js";
import type { Cli } from "../../cli.js";
import { addAppOption, databaseCommand, listOption, parsedBy } from "../../command.js";
import { type OpenedDatabase, withDatabase } from "../../database/open-database.js";
import { addCoordinatorFlags, type CoordinatorFlags } from "../../input/coordinator-flags.js";
import { dashboardOptions, dashboardTokenHelp, dashboardWritableHelp } from "../../input/dashboard-flags.js";
import { type ListenAddress, listenText, parseListen } from "../../input/listen.js";
import { oneLine } from "../../print/layout.js";

interface DashboardCommandOptions extends CoordinatorFlags {
  readonly app?: string | undefined;
  readonly listen?: ListenAddress | undefined;
  readonly dashboardTokenFile?: string | undefined;
  readonly writable?: boolean | undefined;
  readonly from?: readonly string[] | undefined;
}

const usual: ListenAddress = { host: "127.0.0.1", port: 4180 };

export function addDashboard(program: Command, cli: Cli): void {
  const command = databaseCommand(program, "dashboard", {
    summary: "serve the dashboard of a database",
    description:
      "Serves the dashboard until SIGTERM or SIGINT, and prints its address. The dashboard shows freshness, pipeline, " +
      "data as of any moment, transactions, failures, workers and key space. The command runs no observers. Only the " +
      "processes that run transactions know about them: give the addresses of their dashboards with --from, or let the " +
      "worker itself serve a dashboard (worker --dashboard). Without either, the dashboard shows what the store holds. " +
      "It is read-only without --writable. To listen beyond this machine it needs a token.",
    examples: [
      "dashboard ./data",
      "dashboard ./data --app ./app.ts --writable",
      "dashboard bigtable://project/instance --from http://10.0.0.7:4180/ --from http://10.0.0.8:4180/ \\\n" +
        "      --dashboard-token-file token",
      "dashboard ./data --listen 0.0.0.0:4180 --dashboard-token-file token",
    ],
    json: [
      'A line for each event, with "event" and "time": listening {"url"}, stopping {"signal"}, stopped.',
    ],
    exit: ["0 after a signal and a clean end; 130 or 143 after a second signal."],
  });
  addAppOption(command)
    .option(
      "--listen <[host:]port>",
      `address to listen on; port 0 takes a free port (default: ${listenText(usual)})`,
      parsedBy(parseListen("--listen")),
    )
    .option("--dashboard-token-file <file>", `${dashboardTokenHelp}; also shown to the dashboards of --from`)
    .option("--writable", dashboardWritableHelp)
    .option(
      "--from <url>",
      "the dashboard of a worker, to show its transactions too; can be repeated",
      listOption,
    );
  addCoordinatorFlags(command).action((location: string, options: DashboardCommandOptions) =>
    cli.untilSignal(() =>
      withDatabase(cli, { location, app: options.app, coordinator: options }, (opened) =>
        serve(cli, location, opened, options),
      ),
    ),
  );
}

async function serve(
  cli: Cli,
  location: string,
  { db, app }: OpenedDatabase,
  options: DashboardCommandOptions,
): Promise<void> {
  const { listen = usual, dashboardTokenFile, writable, from = [] } = options;
  const flags = { dashboard: listen, dashboardTokenFile, dashboardWritable: writable };
  const given = await dashboardOptions(cli, location, app, flags);
  const { serveDashboard } = await loadServing();
  await using dashboard = await serveDashboard(db, { ...given, from, sources: [] });
  const { url } = dashboard;
  await tell(cli, "listening", { url }, `dashboard at ${url}`);
  if (given.token !== undefined) await cli.note("open it once with ?token=TOKEN, with the token in the file");
  await aborted(cli.signal);
  const { endSignal: signal } = cli;
  await tell(cli, "stopping", { signal }, `${signal ?? "its output is closed"}: stopping`);
  await dashboard.close();
  await tell(cli, "stopped", {}, "stopped");
}

async function tell(cli: Cli, event: string, details: object, text: string): Promise<void> {
  const time = new Date(cli.environment.now()).toISOString();
  await cli.print({ event, time, ...details }, () => [`${time} ${oneLine(text)}`]);
}
