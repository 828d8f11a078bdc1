import type { Command } from "commander";
import type { Coordinator, SecretsWatch } from "../../../coordinator/index.js";
import { loadServing, type MetricsServer } from "../../../dashboard/index.js";
import { openStore } from "../../../database/index.js";
import type { LeaderStatus } from "../../../oracle/index.js";
import { aborted } from "../../aborted.js";
import type { Cli } from "../../cli.js";
import { databaseCommand, parsedBy } from "../../command.js";
import { placeOf } from "../../database/open-database.js";
import { readSecrets, type SecretFiles } from "../../input/coordinator-secrets.js";
import { addMetricsFlags, type MetricsFlags, metricsOptions } from "../../input/metrics-flags.js";
import { counted, oneLine } from "../../print/layout.js";
import { parseDuration } from "../../time.js";
import { FailureRate } from "../../worker/failure-rate.js";

interface CoordinatorCommandOptions extends MetricsFlags, SecretFiles {
  readonly listen: string;
  readonly advertise?: string | undefined;
  readonly lease?: number | undefined;
}

export function addCoordinator(program: Command, cli: Cli): void {
  const command = databaseCommand(program, "coordinator", {
    summary: "serve timestamps, sessions and claims to a cluster's workers",
    description:
      "Runs the one small service that the processes of a cluster share. Run two or more for one database. The one that " +
      "holds the lease in the database leads, and another takes over if it fails. After SIGTERM or SIGINT a coordinator " +
      "gives its lease back, so that a standby leads at once. It sends its clients there, and ends. On a folder and " +
      "on PostgreSQL, the store itself assigns timestamps, and the coordinator serves only sessions and claims.",
    examples: [
      "coordinator ./data",
      "coordinator bigtable://project/instance --listen 0.0.0.0:4100 --advertise 10.0.0.7:4100 \\\n" +
        "      --tls-cert cert.pem --tls-key key.pem --token-file token",
    ],
    json: [
      'A line for each event, with "event" and "time": listening {"address","metrics"} ("metrics" with --metrics),',
      'leading {"epoch"}, standby {"leader"}, replaced (the token or certificate files changed), expiring',
      '{"expires","days"} (from 14 days before the certificate expires), failed {"doing","error","suppressed"} (a failure',
      'that continues is printed every 10 s; "suppressed" counts the failures left out since), stopping {"signal"}, stopped.',
    ],
    exit: ["0 after a signal and a clean end; 130 or 143 after a second signal."],
  })
    .option("--listen <host:port>", "address to listen on; port 0 takes a free port", "127.0.0.1:0")
    .option("--advertise <host:port>", "address by which clients reach it, if it is not that of --listen")
    .option("--tls-cert <file>", "its certificate with the chain, PEM")
    .option("--tls-key <file>", "the certificate's private key, PEM")
    .option("--tls-ca <file>", "authority of clients' certificates, PEM; other clients are refused")
    .option("--token-file <file>", "file with tokens, one on each line; clients must show one of them")
    .option("--insecure", "listen beyond this machine without TLS or a token, also for --metrics")
    .option(
      "--lease <duration>",
      "lease of the leader; after a leader dies, none leads for about this long (default: 10s)",
      parsedBy(parseDuration),
    );
  addMetricsFlags(command).action((location: string, options: CoordinatorCommandOptions) =>
    coordinate(cli, location, options),
  );
}

async function coordinate(cli: Cli, location: string, options: CoordinatorCommandOptions): Promise<void> {
  const { environment } = cli;
  const secrets = await readSecrets(cli, options);
  // gRPC is loaded only now, after the options are parsed, so that `--help` and the commands that
  // need no coordinator work without gRPC.
  const { SecretsWatch: Watch, startCoordinator } = await import("../../../coordinator/index.js");
  const store = await openStore(placeOf(location, cli.io.cwd), { create: false }, environment);
  try {
    const log = new CoordinatorLog(cli);
    const coordinator = await startCoordinator({
      store,
      environment,
      listen: options.listen,
      advertise: options.advertise,
      ...secrets,
      insecure: options.insecure,
      leaseMs: options.lease,
      onChange: (status) => log.changed(status),
      onFailure: ({ doing, error }) => log.failed(doing, error),
    });
    const watch = new Watch({
      environment,
      coordinator,
      first: secrets,
      read: () => readSecrets(cli, options),
      onReplaced: () => log.replaced(),
      onFailure: (doing, error) => log.failed(doing, error),
      onExpiring: (expires) => log.expiring(expires),
    });
    await serve(cli, coordinator, options, log, watch);
  } finally {
    await store.close();
  }
}

async function serve(
  cli: Cli,
  coordinator: Coordinator,
  options: CoordinatorCommandOptions,
  log: CoordinatorLog,
  watch: SecretsWatch,
): Promise<void> {
  let metrics: MetricsServer | undefined;
  try {
    const asked = await metricsOptions(cli, options);
    const serving = asked && (await loadServing());
    metrics = await serving?.serveCoordinatorMetrics(coordinator, asked);
    await log.listening(coordinator, metrics?.url);
    watch.start();
    await aborted(cli.signal);
    await log.stopping();
  } finally {
    watch.stop();
    await coordinator.stop();
    await metrics?.close();
  }
  await log.stopped();
}

/** Prints the events of a coordinator, one line each. */
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
    // The role may have changed while the line above was printed. This call prints the current
    // role.
    this.changed(coordinator.status);
  }

  /** Prints a change of the role. Prints nothing before `listening` has printed the address. */
  changed({ role, epoch, leader }: LeaderStatus): void {
    if (!this.#isListening) return;
    const now = role === "leading" ? `leading, epoch ${epoch}` : standbyText(leader);
    if ((role !== "leading" && role !== "standby") || this.#said === now) return;
    this.#said = now;
    this.#tell(role, role === "leading" ? { epoch } : { leader: leader ?? null }, now);
  }

  failed(doing: string, error: unknown): void {
    const text = error instanceof Error ? error.message : String(error);
    const suppressed = this.#failures.admit(doing, text);
    if (suppressed === undefined) return;
    const more = suppressed === 0 ? "" : ` (and ${counted(suppressed, "time")} before)`;
    this.#tell("failed", { doing, error: text, suppressed }, `${doing}: ${text}${more}`);
  }

  replaced(): void {
    this.#tell("replaced", {}, "loaded the changed token and certificate files");
  }

  expiring(expires: number): void {
    const days = Math.max(0, Math.floor((expires - this.#cli.environment.now()) / 86_400_000));
    const at = new Date(expires).toISOString();
    const text = `the certificate expires in ${counted(days, "day")}, at ${at}: replace its file; no restart is needed`;
    this.#tell("expiring", { expires: at, days }, text);
  }

  async stopping(): Promise<void> {
    const { endSignal: signal } = this.#cli;
    await this.#print("stopping", { signal }, `${signal}: giving the lease back`);
  }

  async stopped(): Promise<void> {
    await this.#print("stopped", {}, "stopped");
  }

  /** Prints an event without waiting. If that fails, `Cli.signal` ends the command. */
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
