import { execFile, execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "../cluster/members.js";
import { MadeCertificate } from "../deploy/certificates.js";
import { root } from "../support/built/files.js";
import { CommandLine, type Outcome } from "../support/command-line.js";
import { type Emulator, startEmulator } from "../support/emulator/index.js";
import { ProgramProcess } from "../support/program-process.js";
import type { LoadOrders } from "./load.js";
import { CommandPage } from "./page.js";

/** The answer of a probe or metrics page. */
export interface Answer {
  readonly status: number;
  readonly text: string;
}

const nothing: Answer = { status: 0, text: "" };
/** The limit in milliseconds. A later answer counts as none, because no probe waits longer. */
const answerMs = 3_000;

/** A process of the cluster that serves metrics and probes. */
export class Served {
  readonly process: ProgramProcess;
  /** `HOST:PORT` of a coordinator, by which clients reach it. */
  readonly address: string;

  constructor(process: ProgramProcess, address: string) {
    this.process = process;
    this.address = address;
  }

  /** The events of that name in its output. */
  events(name: string, from = 0): readonly Record<string, unknown>[] {
    return this.process.lines
      .slice(from)
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ event }) => event === name);
  }

  /** Waits for the next event of that name, after the first `from` lines. */
  async told(name: string, from = 0): Promise<void> {
    await this.process.said((line) => line.startsWith(`{"event":"${name}"`), from);
  }

  /**
   * Returns the current answer of one of its pages. The status is 0 if there is no answer in time.
   */
  async ask(page: "/metrics" | "/healthz" | "/readyz"): Promise<Answer> {
    const [begun] = [...this.events("listening"), ...this.events("started")];
    try {
      const response = await fetch(new URL(page, begun!.metrics as string), {
        signal: AbortSignal.timeout(answerMs),
      });
      return { status: response.status, text: await response.text() };
    } catch {
      return nothing;
    }
  }

  /** Returns a sample of its metrics. Undefined if there is none, or no answer. */
  async sample(name: string): Promise<number | undefined> {
    const { text } = await this.ask("/metrics");
    const found = new RegExp(`^percolator_${name}(?:\\{[^}]*\\})? (\\S+)$`, "m").exec(text);
    return found === null ? undefined : Number(found[1]);
  }
}

/** A cluster that is started and operated by the commands of docs/operations.md, under load. */
export class OperatedCluster implements AsyncDisposable {
  readonly page = new CommandPage("docs/operations.md");
  readonly emulator: Emulator;
  readonly line: CommandLine;
  readonly coordinators: Served[] = [];
  readonly #processes: ProgramProcess[] = [];
  readonly #certificates: MadeCertificate[] = [];
  #worker: Served | undefined;
  #load: ProgramProcess | undefined;

  private constructor(emulator: Emulator, line: CommandLine) {
    this.emulator = emulator;
    this.line = line;
    const here = (name: string) => ({ [name]: join(line.folder, name) });
    Object.assign(this.page.words, {
      PROJECT: "operations",
      INSTANCE: "test",
      LOCATION: this.location,
      APP: join(root, "test/operations/app.ts"),
      "./app.js": join(root, "test/operations/app.ts"),
      // Any free port.
      "9464": "0",
      "9465": "0",
      "health.mjs": join(root, "deploy/health.mjs"),
      ...here("FILE.jsonl.gz"),
    });
    for (const name of fileNames) Object.assign(this.page.words, here(name));
  }

  static async start(): Promise<OperatedCluster> {
    const cluster = new OperatedCluster(await startEmulator(), await CommandLine.create());
    cluster.newToken();
    cluster.newCertificate();
    for (const [from, to] of [
      ["new-token", "token"],
      ["new-token", "client-token"],
      ["new-cert.pem", "cert.pem"],
      ["new-key.pem", "key.pem"],
      ["new-ca.pem", "ca.pem"],
    ] as const)
      copyFileSync(cluster.file(from), cluster.file(to));
    return cluster;
  }

  get location(): string {
    return "bigtable://operations/test?profile=percolator";
  }

  file(name: string): string {
    return join(this.line.folder, name);
  }

  get worker(): Served {
    return this.#worker!;
  }

  /** Creates `new-token`. */
  newToken(): void {
    writeFileSync(this.file("new-token"), `${randomBytes(16).toString("hex")}\n`);
  }

  /** Creates `new-cert.pem`, its key, and its authority, which is the certificate itself. */
  newCertificate(days = 90): void {
    const made = new MadeCertificate(["localhost"], days);
    this.#certificates.push(made);
    for (const name of ["new-cert.pem", "new-ca.pem"]) writeFileSync(this.file(name), made.cert);
    writeFileSync(this.file("new-key.pem"), made.key);
  }

  /** Replaces the certificate by an invalid one. */
  breakCertificate(): void {
    writeFileSync(this.file("cert.pem"), "no certificate\n");
  }

  /** Runs commands of the page in a shell. The arguments are the beginnings of the commands. */
  shell(...beginnings: readonly string[]): void {
    for (const beginning of beginnings) execFileSync("sh", ["-c", this.page.take(beginning).join(" ")]);
  }

  /**
   * Runs a command of the page here until it ends, with the environment variables that the page
   * requires.
   */
  run(beginning: string, ...more: readonly string[]): Promise<Outcome> {
    const [, ...args] = this.page.take(beginning);
    return this.command([...args, ...more], "client-token");
  }

  /**
   * Runs a command with the page's environment variables, or without if `tokenFile` is undefined.
   */
  command(args: readonly string[], tokenFile: string | undefined): Promise<Outcome> {
    this.page.ran(args[0]!);
    if (tokenFile === undefined) return this.line.run(args);
    const env = { PERCOLATOR_TOKEN_FILE: this.file(tokenFile), PERCOLATOR_TLS_CA: this.file("ca.pem") };
    return this.line.run(args, { env });
  }

  /** Starts another coordinator as the page does. Resolves when it is the leader or stands by. */
  async addCoordinator(): Promise<Served> {
    const port = await freePort();
    this.page.words["0.0.0.0:4100"] = `127.0.0.1:${port}`;
    this.page.words["NAME:4100"] = `localhost:${port}`;
    const served = new Served(this.#spawn("percolator coordinator"), `localhost:${port}`);
    this.coordinators.push(served);
    await served.process.said((line) => /^\{"event":"(leading"|standby".*"leader":")/.test(line));
    return served;
  }

  async startWorker(): Promise<Served> {
    const served = new Served(this.#spawn("percolator worker"), "");
    await served.told("started");
    this.#worker = served;
    return served;
  }

  async startLoad(): Promise<void> {
    const load = new ProgramProcess("test/operations/load.ts", [], { env: this.#env });
    this.#processes.push(load);
    const orders: LoadOrders = {
      location: this.location,
      tokenFile: this.file("client-token"),
      caFile: this.file("ca.pem"),
    };
    load.tell(JSON.stringify(orders));
    this.#load = load;
    await this.progress();
  }

  /** The failures in the load's output. */
  get failures(): readonly string[] {
    return this.#load!.lines.filter((line) => line.startsWith("failed "));
  }

  get done(): number {
    const said = this.#load!.lines.findLast((line) => line.startsWith("done "));
    return Number(said?.split(" ")[1] ?? 0);
  }

  /** Waits until the load has completed further operations. */
  async progress(): Promise<void> {
    const from = this.done + 10;
    await this.#load!.said((line) => line.startsWith("done ") && Number(line.split(" ")[1]) > from);
  }

  /** Ends the load after its current operations. */
  async endLoad(): Promise<void> {
    await this.#load!.terminate();
  }

  leader(): Served {
    const leads = ({ process }: Served) =>
      !process.hasEnded &&
      !process.isStopped &&
      process.lines
        .findLast((line) => /^\{"event":"(leading|standby)"/.test(line))
        ?.startsWith('{"event":"leading"');
    const leader = this.coordinators.find(leads);
    if (leader === undefined) throw new Error("No coordinator has said that it leads.");
    return leader;
  }

  /**
   * Asks a coordinator by the probe of the page whether it serves, or whether it is the leader.
   * Returns `serves`, or what the probe says instead. A probe that timed out is repeated while the
   * coordinator runs, because the cause may be a busy machine.
   */
  async health({ address, process: asked }: Served, service?: string): Promise<string> {
    this.page.words["HOST:PORT"] = address;
    const [program, ...args] = this.page.take("node health.mjs");
    if (service !== undefined) args.push("--service", service);
    for (let attempt = 1; ; attempt++) {
      const said = await promisify(execFile)(program === "node" ? process.execPath : program!, args).then(
        () => "serves",
        (error: { stderr: string }) => error.stderr.trim(),
      );
      const inVain = /DEADLINE_EXCEEDED|Deadline exceeded/i.test(said);
      if (!inVain || asked.isStopped || attempt === 10) return said;
    }
  }

  get #env(): Readonly<Record<string, string>> {
    return { BIGTABLE_EMULATOR_HOST: this.emulator.host };
  }

  #spawn(beginning: string): ProgramProcess {
    const [, ...args] = this.page.take(beginning);
    const process = new ProgramProcess("src/cli/main.ts", args, { env: this.#env });
    this.#processes.push(process);
    return process;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.emulator.signal("SIGCONT");
    for (const process of this.#processes) await process.kill();
    await this.emulator.stop();
    for (const made of this.#certificates) made.remove();
  }
}

const fileNames = [
  "token",
  "new-token",
  "client-token",
  ...["cert.pem", "key.pem", "ca.pem"].flatMap((name) => [name, `new-${name}`]),
];
