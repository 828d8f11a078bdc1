import type { CoordinatorTls } from "../../coordinator/index.js";
import type { Cli } from "../cli.js";
import { UsageError } from "../usage-error.js";
import { readGiven, tokensIn } from "./token-file.js";

/** The files of a coordinator's secrets. */
export interface SecretFiles {
  readonly tlsCert?: string | undefined;
  readonly tlsKey?: string | undefined;
  readonly tlsCa?: string | undefined;
  readonly tokenFile?: string | undefined;
}

/** What the files hold. */
export interface FileSecrets {
  readonly tls: CoordinatorTls | undefined;
  /** One, or during a change of tokens several. */
  readonly token: readonly string[] | undefined;
}

export async function readSecrets(
  cli: Cli,
  { tlsCert, tlsKey, tlsCa, tokenFile }: SecretFiles,
): Promise<FileSecrets> {
  const option = "--token-file";
  const token =
    tokenFile === undefined
      ? undefined
      : tokensIn(await readGiven(cli, option, tokenFile), option, tokenFile);
  if (tlsCert === undefined && tlsKey === undefined && tlsCa === undefined) return { tls: undefined, token };
  if (tlsCert === undefined || tlsKey === undefined) {
    throw new UsageError("TLS takes both --tls-cert and --tls-key; --tls-ca comes besides.");
  }
  const tls = {
    cert: await readGiven(cli, "--tls-cert", tlsCert),
    key: await readGiven(cli, "--tls-key", tlsKey),
    ca: tlsCa === undefined ? undefined : await readGiven(cli, "--tls-ca", tlsCa),
  };
  return { tls, token };
}
