import type { Command } from "commander";
import type { PlainServerOptions } from "../../dashboard/index.js";
import type { Cli } from "../cli.js";
import { parsedBy } from "../command.js";
import { type ListenAddress, listenText, parseListen } from "./listen.js";
import { watchedToken } from "./token-file.js";

/** The flags by which a user tells a command to serve its metrics. */
export interface MetricsFlags {
  readonly metrics?: ListenAddress | undefined;
  readonly metricsTokenFile?: string | undefined;
  readonly insecure?: boolean | undefined;
}

/** Adds these flags to a command. The command adds `--insecure` itself. */
export function addMetricsFlags(command: Command, more = ""): Command {
  return command
    .option(
      "--metrics <[host:]port>",
      `serve /metrics for Prometheus, and /healthz and /readyz for probes, at this address${more} (default host: 127.0.0.1)`,
      parsedBy(parseListen("--metrics")),
    )
    .option(
      "--metrics-token-file <file>",
      "file with the token that /metrics asks for; beyond this machine, either this or --insecure is needed",
    );
}

/**
 * Returns the options for the metrics server, or undefined if the flags ask for none. If several
 * processes share the flags, process `number` (from 1) listens at the given port plus `number - 1`.
 */
export async function metricsOptions(
  cli: Cli,
  { metrics, metricsTokenFile, insecure }: MetricsFlags,
  number = 1,
): Promise<PlainServerOptions | undefined> {
  if (metrics === undefined) return undefined;
  const { host, port } = metrics;
  const token = await watchedToken(cli, "--metrics-token-file", metricsTokenFile);
  return { host, port: port === 0 ? 0 : port + number - 1, token, insecure };
}

/** Returns the flags as arguments for another process of this program. */
export function metricsArguments({ metrics, metricsTokenFile, insecure }: MetricsFlags): readonly string[] {
  return [
    ...(metrics === undefined ? [] : ["--metrics", listenText(metrics)]),
    ...(metricsTokenFile === undefined ? [] : ["--metrics-token-file", metricsTokenFile]),
    ...(insecure ? ["--insecure"] : []),
  ];
}
