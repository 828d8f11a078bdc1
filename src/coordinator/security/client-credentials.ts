import { InvalidArgumentError } from "../../errors/index.js";
import { ChannelCredentials } from "../packages.js";
import { pemsOf, type Security } from "./client-security.js";

/** Turns TLS settings into gRPC's channel credentials. */
export function credentialsOf({ tls }: Security): ChannelCredentials {
  if (tls === undefined) return ChannelCredentials.createInsecure();
  const pems = pemsOf(tls);
  try {
    return ChannelCredentials.createSsl(...pems);
  } catch (cause) {
    throw new InvalidArgumentError(
      "The client's certificates cannot be used: `ca`, `cert` and `key` must be PEM, and `cert` needs its `key`.",
      { cause },
    );
  }
}
