import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import type { Coordinator, CoordinatorTls } from "../../coordinator/index.js";
import { loadServing, type MetricsServer } from "../../dashboard/index.js";
import { openStore } from "../../database/index.js";
import type { LeaderStatus } from "../../oracle/index.js";
import { aborted } from "../aborted.js";
import type { Cli } from "../cli.js";
import { databaseCommand, parsedBy } from "../command.js";
import { FailureRate } from "../failure-rate.js";
import { counted, oneLine } from "../layout.js";
import { addMetricsFlags, type MetricsFlags, metricsOptions } from "../metrics-flags.js";
import { placeOf } from "../open-database.js";
import { parseDuration } from "../time.js";
import { UsageError } from "../usage-error.js";

interface CoordinatorCommandOptions extends MetricsFlags {
  readonly listen: string;
  readonly advertise?: string | undefined;
  readonly tlsCert?: string | undefined;
  readonly tlsKey?: string | undefined;
  readonly tlsCa?: string | undefined;
  readonly tokenFile?: string | undefined;
  readonly lease?: number | undefined;
}

export function addCoordinator(program: Command, cli: Cli): void {
  const command = databaseCommand(program, "coordinator", {
    summary: "serve timestamps, sessions and claims to a cluster's workers",
    description:
      "The one small service that the processes of a cluster share. Run two or more for one database: one leads, as a lease in the " +
      "database says, and the others take over when it goes. After SIGTERM or SIGINT it gives its lease back, so that a standby " +
      "leads at once, sends its clients there, and ends. On a folder, whose store counts by itself, it serves sessions and claims.",
    examples: [
      "coordinator ./data",
      "coordinator bigtable://project/instance --listen 0.0.0.0:4100 --advertise 10.0.0.7:4100 --tls-cert cert.pem --tls-key key.pem --token-file token",
    ],
    json: [
      'A line for each event, with "event" and "time": listening {"address","metrics"} (of --metrics), leading {"epoch"}, standby {"leader"},',
      'failed {"doing","error","untold"} (one that goes on every 10 s, with the number of those between), stopping {"signal"}, stopped.',
    ],
    exit: ["0 after a signal and a clean end; 130 or 143 after a second signal."],
  })
    .option("--listen <host:port>", "where to listen; port 0 takes a free one", "127.0.0.1:0")
    .option("--advertise <host:port>", "by which clients reach it, where that is another address")
    .option("--tls-cert <file>", "its certificate with the chain, PEM")
    .option("--tls-key <file>", "the certificate's private key, PEM")
    .option("--tls-ca <file>", "authority of clients' certificates, PEM: others may not connect")
    .option("--token-file <file>", "tokens that clients must show one of, a line each")
    .option("--insecure", "listen beyond this machine, with --metrics too, without TLS or a token")
    .option(
      "--lease <duration>",
      "about as long nobody leads after a leader died (default: 10s)",
      parsedBy(parseDuration),
    );
  addMetricsFlags(command).action((location: string, options: CoordinatorCommandOptions) =>
    coordinate(cli, location, options),
  );
}

async function coordinate(cli: Cli, location: string, options: CoordinatorCommandOptions): Promise<void> {
  const { environment } = cli;
  const [tls, token] = [await tlsOf(cli, options), await tokensOf(cli, options.tokenFile)];
  // gRPC is loaded where it is used: no other command needs it to say how it is used.
  const { startCoordinator } = await import("../../coordinator/index.js");
  const store = await openStore(placeOf(location, cli.io.cwd), { create: false }, environment);
  try {
    const log = new CoordinatorLog(cli);
    const coordinator = await startCoordinator({
      store,
      environment,
      listen: options.listen,
      advertise: options.advertise,
      tls,
      token,
      insecure: options.insecure,
      leaseMs: options.lease,
      onChange: (status) => log.changed(status),
      onFailure: ({ doing, error }) => log.failed(doing, error),
    });
    await serve(cli, coordinator, options, log);
  } finally {
    await store.close();
  }
}

async function serve(
  cli: Cli,
  coordinator: Coordinator,
  options: CoordinatorCommandOptions,
  log: CoordinatorLog,
): Promise<void> {
  let metrics: MetricsServer | undefined;
  try {
    const asked = await metricsOptions(cli, options);
    const serving = asked && (await loadServing());
    metrics = await serving?.serveCoordinatorMetrics(coordinator, asked);
    await log.listening(coordinator, metrics?.url);
    await aborted(cli.signal);
    await log.stopping();
  } finally {
    await coordinator.stop();
    await metrics?.close();
  }
  await log.stopped();
}

async function tlsOf(
  cli: Cli,
  { tlsCert, tlsKey, tlsCa }: CoordinatorCommandOptions,
): Promise<CoordinatorTls | undefined> {
  if (tlsCert === undefined && tlsKey === undefined && tlsCa === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined) {
    throw new UsageError("TLS takes both --tls-cert and --tls-key; --tls-ca comes besides.");
  }
  return {
    cert: await read(cli, "--tls-cert", tlsCert),
    key: await read(cli, "--tls-key", tlsKey),
    ca: tlsCa === undefined ? undefined : await read(cli, "--tls-ca", tlsCa),
  };
}

/** The tokens of a file: one, or during a change of tokens several. */
async function tokensOf(cli: Cli, file: string | undefined): Promise<readonly string[] | undefined> {
  if (file === undefined) return undefined;
  const lines = (await read(cli, "--token-file", file)).split(/\r?\n/).map((line) => line.trim());
  const tokens = lines.filter((line) => line !== "");
  if (tokens.length > 0) return tokens;
  throw new UsageError(`The file ${file} of --token-file holds no token.`);
}

async function read(cli: Cli, option: string, file: string): Promise<string> {
  try {
    return await readFile(resolve(cli.io.cwd, file), "utf8");
  } catch (error) {
    throw new UsageError(`The file ${file} of ${option} cannot be read: ${(error as Error).message}`);
  }
}

/** What a coordinator tells of itself. */
class CoordinatorLog {
  readonly #cli: Cli;
  #isListening = false;
  readonly #failures: FailureRate;
  #said: string | undefined;

  constructor(cli: Cli) {
    this.#cli = cli;
    this.#failures = new FailureRate(cli.environment);
  }

  async listening(coordinator: Coordinator, metrics: string | undefined): Promise<void> {
    const { address } = coordinator;
    const served = metrics === undefined ? "" : `; metrics at ${metrics}`;
    await this.#print("listening", { address, metrics }, `listening at ${address}${served}`);
    this.#isListening = true;
    // As it is now: what changed while that was printed was not told.
    this.changed(coordinator.status);
  }

  /** Who leads is told after the address. */
  changed({ role, epoch, leader }: LeaderStatus): void {
    if (!this.#isListening) return;
    const now = role === "leading" ? `leading, epoch ${epoch}` : standbyText(leader);
    if ((role !== "leading" && role !== "standby") || this.#said === now) return;
    this.#said = now;
    this.#tell(role, role === "leading" ? { epoch } : { leader: leader ?? null }, now);
  }

  failed(doing: string, error: unknown): void {
    const text = error instanceof Error ? error.message : String(error);
    const untold = this.#failures.admit(doing, text);
    if (untold === undefined) return;
    const more = untold === 0 ? "" : ` (and ${counted(untold, "time")} before)`;
    this.#tell("failed", { doing, error: text, untold }, `${doing}: ${text}${more}`);
  }

  async stopping(): Promise<void> {
    const { endSignal: signal } = this.#cli;
    await this.#print("stopping", { signal }, `${signal}: giving the lease back`);
  }

  async stopped(): Promise<void> {
    await this.#print("stopped", {}, "stopped");
  }

  /** Tells what nobody waits for. If it cannot be printed, the end of the output is noticed elsewhere. */
  #tell(event: string, details: object, text: string): void {
    this.#print(event, details, text).catch(() => undefined);
  }

  async #print(event: string, details: object, text: string): Promise<void> {
    const time = new Date(this.#cli.environment.now()).toISOString();
    await this.#cli.print({ event, time, ...details }, () => [`${time} ${oneLine(text)}`]);
  }
}

function standbyText(leader: string | undefined): string {
  return leader === undefined ? "standing by" : `standing by for ${leader}`;
}
