import { InvalidArgumentError } from "../../errors/index.js";
import { ChannelCredentials } from "../packages.js";
import { pemsOf, type Security } from "./client-security.js";

/** The security of a connection, as gRPC takes it. */
export function credentialsOf({ tls }: Security): ChannelCredentials {
  if (tls === undefined) return ChannelCredentials.createInsecure();
  const pems = pemsOf(tls);
  try {
    return ChannelCredentials.createSsl(...pems);
  } catch (cause) {
    throw new InvalidArgumentError(
      "The client's certificates cannot be used: they must be PEM, `cert` with its `key`.",
      { cause },
    );
  }
}
