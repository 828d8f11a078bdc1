import type { Command } from "commander";
import { isPostgres, type OpenOptions } from "../../database/index.js";
import type { Cli } from "../cli.js";
import { UsageError } from "../usage-error.js";
import { rereading } from "./secret-file.js";
import { readGiven, watchedTokens } from "./token-file.js";

/** The flags by which a user says where the cluster's coordinator is and how to reach it. */
export interface CoordinatorFlags {
  readonly coordinator?: string | undefined;
  readonly tokenFile?: string | undefined;
  readonly tls?: boolean | undefined;
  readonly tlsCa?: string | undefined;
  readonly tlsCert?: string | undefined;
  readonly tlsKey?: string | undefined;
}

/**
 * Adds these flags to a command. The environment variables supply the flags that the user leaves
 * out.
 */
export function addCoordinatorFlags(command: Command): Command {
  return command
    .option(
      "--coordinator <where>",
      "the cluster's coordinator: HOST:PORT (several separated by commas), none, or auto: the leader, or one inside this " +
        "process if there is no leader (default: PERCOLATOR_COORDINATOR; without it the leader, or none if the store " +
        "assigns timestamps itself)",
    )
    .option(
      "--token-file <file>",
      "file with the token that the coordinator asks for (or PERCOLATOR_TOKEN_FILE)",
    )
    .option("--tls", "use TLS with the coordinator, trusting the authorities that Node trusts")
    .option(
      "--tls-ca <file>",
      "use TLS, trusting this authority for the coordinator's certificate, PEM (or PERCOLATOR_TLS_CA)",
    )
    .option("--tls-cert <file>", "client certificate to show to the coordinator, PEM")
    .option("--tls-key <file>", "the certificate's private key, PEM");
}

/** Returns the flags, completed from the environment variables. */
function withDefaults(cli: Cli, flags: CoordinatorFlags): CoordinatorFlags {
  const env = cli.io.env ?? {};
  const said = (value: string | undefined) => (value === "" ? undefined : value);
  return {
    ...flags,
    coordinator: flags.coordinator ?? said(env.PERCOLATOR_COORDINATOR),
    tokenFile: flags.tokenFile ?? said(env.PERCOLATOR_TOKEN_FILE),
    tlsCa: flags.tlsCa ?? said(env.PERCOLATOR_TLS_CA),
  };
}

/** Returns the `coordinator` option for `open`, or undefined for its default. */
export async function coordinatorOf(
  cli: Cli,
  location: string,
  given: CoordinatorFlags = {},
): Promise<OpenOptions["coordinator"]> {
  const flags = withDefaults(cli, given);
  const { coordinator: where } = flags;
  if (where === "none") return false;
  // A folder and PostgreSQL need no coordinator. Unless the user names one, `open` must not look for it.
  const isFolder = location.startsWith("file://") || !/^[a-z][a-z0-9+.-]+:\/\//i.test(location);
  if (where === undefined && (isFolder || isPostgres(location))) return undefined;
  const secrets = {
    token: await watchedTokens(cli, "--token-file", flags.tokenFile),
    tls: await tlsOf(cli, flags),
  };
  if (where === "auto") return { start: true, ...secrets };
  if (where !== undefined) return { addresses: where.split(","), ...secrets };
  return secrets.token === undefined && secrets.tls === undefined ? undefined : secrets;
}

async function tlsOf(cli: Cli, { tls, tlsCa, tlsCert, tlsKey }: CoordinatorFlags) {
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    throw new UsageError("A client certificate needs both --tls-cert and --tls-key.");
  }
  if (tlsCa === undefined && tlsCert === undefined) return tls;
  const read = (option: string, file: string | undefined) =>
    file === undefined ? undefined : readGiven(cli, option, file);
  const first = {
    ca: await read("--tls-ca", tlsCa),
    cert: await read("--tls-cert", tlsCert),
    key: await read("--tls-key", tlsKey),
  };
  return rereading(cli, [tlsCa, tlsCert, tlsKey], first, (texts) => {
    const [ca, cert, key] = texts;
    if (texts.some((text) => text?.trim() === "")) throw new UsageError("A TLS file is empty.");
    return { ca, cert, key };
  });
}

/** Returns the flags as arguments for another process of this program. */
export function coordinatorArguments(flags: CoordinatorFlags): readonly string[] {
  const { coordinator, tokenFile, tls, tlsCa, tlsCert, tlsKey } = flags;
  const options: readonly (readonly [string, string | undefined])[] = [
    ["--coordinator", coordinator],
    ["--token-file", tokenFile],
    ["--tls-ca", tlsCa],
    ["--tls-cert", tlsCert],
    ["--tls-key", tlsKey],
  ];
  const given = options.flatMap(([name, value]) => (value === undefined ? [] : [name, value]));
  return tls ? [...given, "--tls"] : given;
}
