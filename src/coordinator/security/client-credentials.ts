import { isIP } from "node:net";
import { checkServerIdentity } from "node:tls";
import type { ChannelOptions, VerifyOptions } from "@grpc/grpc-js";
import { InvalidArgumentError } from "../../errors/index.js";
import { ChannelCredentials } from "../packages.js";
import { parseAddress } from "../wire/address.js";
import { pemsOf, type Security } from "./client-security.js";

/** Turns TLS settings into gRPC's channel credentials. */
export function credentialsOf({ tls }: Security, verify: VerifyOptions = {}): ChannelCredentials {
  if (tls === undefined) return ChannelCredentials.createInsecure();
  const pems = pemsOf(tls);
  try {
    return ChannelCredentials.createSsl(...pems, verify);
  } catch (cause) {
    throw new InvalidArgumentError(
      "The client's certificates cannot be used: `ca`, `cert` and `key` must be PEM, and `cert` needs its `key`.",
      { cause },
    );
  }
}

/** The name that a client tells a server whose address has none. Servers of this package ignore it. */
const unnamed = "coordinator.invalid";

/** The credentials for a coordinator, and the options of the channel that belong to them. */
export function channelSecurity(
  address: string,
  security: Security,
): { readonly credentials: ChannelCredentials; readonly options: ChannelOptions } {
  const { serverName } = security.tls ?? {};
  if (serverName !== undefined) {
    const options = { "grpc.ssl_target_name_override": serverName, "grpc.default_authority": serverName };
    return { credentials: credentialsOf(security), options };
  }
  const { host } = parseAddress(address, "The coordinator's address");
  if (security.tls === undefined || isIP(host) === 0)
    return { credentials: credentialsOf(security), options: {} };
  // gRPC gives the address to TLS as the server's name, which must not be an address. Node.js 26 refuses that.
  const verify: VerifyOptions = {
    checkServerIdentity: (_, certificate) => checkServerIdentity(host, certificate),
  };
  return {
    credentials: credentialsOf(security, verify),
    options: { "grpc.ssl_target_name_override": unnamed },
  };
}
