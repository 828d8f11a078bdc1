import type { CoordinatorTls } from "../../coordinator/index.js";
import type { Cli } from "../cli.js";
import { UsageError } from "../usage-error.js";
import { readGiven, tokensIn } from "./token-file.js";

/** Paths of the files that hold a coordinator's token and TLS certificates. */
export interface SecretFiles {
  readonly tlsCert?: string | undefined;
  readonly tlsKey?: string | undefined;
  readonly tlsCa?: string | undefined;
  readonly tokenFile?: string | undefined;
}

/** The contents of these files. */
export interface FileSecrets {
  readonly tls: CoordinatorTls | undefined;
  /**
   * The tokens that clients may show: usually one, or several while an operator replaces the token.
   */
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
    throw new UsageError("TLS needs both --tls-cert and --tls-key; --tls-ca is optional.");
  }
  const tls = {
    cert: await readGiven(cli, "--tls-cert", tlsCert),
    key: await readGiven(cli, "--tls-key", tlsKey),
    ca: tlsCa === undefined ? undefined : await readGiven(cli, "--tls-ca", tlsCa),
  };
  return { tls, token };
}
