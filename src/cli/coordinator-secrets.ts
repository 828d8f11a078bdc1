import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Coordinator, CoordinatorTls } from "../coordinator/index.js";
import type { Timer } from "../environment/index.js";
import type { Cli } from "./cli.js";
import { UsageError } from "./usage-error.js";

/** The files of a coordinator's secrets. */
export interface SecretFiles {
  readonly tlsCert?: string | undefined;
  readonly tlsKey?: string | undefined;
  readonly tlsCa?: string | undefined;
  readonly tokenFile?: string | undefined;
}

/** What the files hold. */
export interface Secrets {
  readonly tls: CoordinatorTls | undefined;
  readonly token: readonly string[] | undefined;
}

/** How often the files are read again, in milliseconds. */
const lookMs = 1_000;
/** How long before its end a certificate is warned of, in milliseconds, and how often. */
const soonMs = 14 * 86_400_000;
const warnEveryMs = 86_400_000;

export async function readSecrets(
  cli: Cli,
  { tlsCert, tlsKey, tlsCa, tokenFile }: SecretFiles,
): Promise<Secrets> {
  const token = await tokensOf(cli, tokenFile);
  if (tlsCert === undefined && tlsKey === undefined && tlsCa === undefined) return { tls: undefined, token };
  if (tlsCert === undefined || tlsKey === undefined) {
    throw new UsageError("TLS takes both --tls-cert and --tls-key; --tls-ca comes besides.");
  }
  const tls = {
    cert: await read(cli, "--tls-cert", tlsCert),
    key: await read(cli, "--tls-key", tlsKey),
    ca: tlsCa === undefined ? undefined : await read(cli, "--tls-ca", tlsCa),
  };
  return { tls, token };
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

export interface SecretsWatchOptions {
  readonly cli: Cli;
  readonly files: SecretFiles;
  readonly first: Secrets;
  readonly coordinator: Coordinator;
  /** Other secrets are used. */
  readonly onReplaced: () => void;
  /** What was read cannot be used; what was there before still is. */
  readonly onFailure: (doing: string, error: unknown) => void;
  /** The certificate ends soon: in milliseconds since 1970. */
  readonly onExpiring: (expires: number) => void;
}

/** Reads a coordinator's files again every second, and gives the coordinator what has changed. */
export class SecretsWatch {
  readonly #options: SecretsWatchOptions;
  #known: string;
  #warnedAt = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;
  #isOver = false;

  constructor(options: SecretsWatchOptions) {
    this.#options = options;
    this.#known = JSON.stringify(options.first);
  }

  start(): void {
    this.#warn();
    this.#lookLater();
  }

  stop(): void {
    this.#isOver = true;
    this.#timer?.cancel();
  }

  #lookLater(): void {
    if (this.#isOver) return;
    const { environment } = this.#options.cli;
    this.#timer = environment.setTimer(() => void this.#look().finally(() => this.#lookLater()), lookMs, {
      background: true,
    });
  }

  async #look(): Promise<void> {
    const { cli, files, coordinator, onReplaced, onFailure } = this.#options;
    try {
      const secrets = await readSecrets(cli, files);
      const read = JSON.stringify(secrets);
      if (read !== this.#known && !this.#isOver) {
        coordinator.replace(secrets);
        this.#known = read;
        this.#warnedAt = Number.NEGATIVE_INFINITY;
        onReplaced();
      }
      this.#warn();
    } catch (error) {
      onFailure("taking the changed token and certificate files", error);
    }
  }

  #warn(): void {
    const { cli, coordinator, onExpiring } = this.#options;
    const { certificateExpires: expires } = coordinator;
    const now = cli.environment.now();
    if (expires === undefined || expires - now > soonMs || now - this.#warnedAt < warnEveryMs) return;
    this.#warnedAt = now;
    onExpiring(expires);
  }
}
