import { InvalidArgumentError } from "../../errors/index.js";
import { describeValue } from "../../schema/index.js";
import type { BigtableLocation } from "./location.js";
import type { BigtableStoreOptions } from "./options.js";
import { type Endpoint, findEndpoint } from "./wire/credentials.js";
import { Transport } from "./wire/transport.js";

/** Combines the options, the parameters of the location and the defaults. */
export async function settle(
  { client }: BigtableLocation,
  options: BigtableStoreOptions,
): Promise<{
  readonly deadlineMs: number;
  readonly retryForMs: number;
  readonly endpoint: Endpoint;
  readonly connections: number;
  readonly maxInFlight: number | undefined;
}> {
  const deadlineMs = positive("deadlineMs", options.deadlineMs ?? client.deadlineMs ?? 10_000);
  const retryForMs = positive("retryForMs", options.retryForMs ?? client.retryForMs ?? 6 * deadlineMs);
  const endpoint = await findEndpoint({
    emulatorHost: options.emulatorHost,
    auth: options.auth,
    endpoint: options.endpoint ?? client.endpoint,
    adminEndpoint: options.adminEndpoint ?? client.adminEndpoint,
    universeDomain: options.universeDomain ?? client.universeDomain,
  });
  const usual = endpoint.emulator ? 1 : 4;
  const connections = positive("connections", options.connections ?? client.connections ?? usual);
  const most = options.maxInFlight ?? client.maxInFlight;
  const maxInFlight = most === undefined ? undefined : positive("maxInFlight", most);
  return { deadlineMs, retryForMs, endpoint, connections, maxInFlight };
}

/** Requests about tables are few, so they share one connection. */
export function adminTransport({ admin: address, credentials }: Endpoint): Transport {
  return new Transport({ address, credentials, connections: 1 });
}

function positive(name: string, value: number): number {
  if (Number.isFinite(value) && value >= 1) return Math.floor(value);
  throw new InvalidArgumentError(`\`${name}\` must be a number of at least 1, not ${describeValue(value)}.`);
}
