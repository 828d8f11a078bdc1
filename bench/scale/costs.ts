/**
 * What things cost, in milliseconds. Client and coordinator: measured, one process, grpc-js with static codecs on loopback. Tablet servers: assumed
 * from the service's documentation for SSD nodes and rows of 1 KB (17,000 reads, 14,000 writes or 220 MB of scans a second);
 * nothing here was measured against the service.
 */
export interface Costs {
  /** Of a worker's process, for sending a request and taking its answer. */
  readonly client: {
    readonly conditionalMutation: number;
    readonly pointRead: number;
    /** Of a request for several rows, and of each of them. */
    readonly rowSet: number;
    readonly rowOfSet: number;
    readonly bulk: number;
    readonly rowOfBulk: number;
    /** A message to the coordinator and its answer. */
    readonly message: number;
    /** The library's own work for a run. */
    readonly engine: number;
    /** One weight of a session and a bucket, and the parsing of one session's record. */
    readonly weight: number;
    readonly sessionRecord: number;
  };
  /** Of a tablet server, per row; a conditional mutation reads and writes. */
  readonly tablet: {
    readonly read: number;
    readonly write: number;
    readonly conditionalMutation: number;
    readonly scannedRow: number;
  };
  /** Of the coordinator: a message with its answer, and each claim or release in one. */
  readonly coordinator: { readonly message: number; readonly claim: number };
  /** On the way, in one direction. */
  readonly network: number;
  /** What an answer of a tablet server takes beyond its work: so much always, and so much more on average. */
  readonly readLatency: { readonly always: number; readonly more: number };
  readonly writeLatency: { readonly always: number; readonly more: number };
}

const read = 1 / 17;
const write = 1 / 14;

export const costs: Costs = {
  client: {
    conditionalMutation: 0.1,
    pointRead: 0.157,
    rowSet: 0.139,
    rowOfSet: 0.018,
    bulk: 0.1,
    rowOfBulk: 0.0065,
    message: 0.02,
    engine: 0.06,
    weight: 0.0008,
    sessionRecord: 0.02,
  },
  tablet: { read, write, conditionalMutation: read + write, scannedRow: 1 / 220 },
  coordinator: { message: 0.02, claim: 0.001 },
  network: 0.25,
  readLatency: { always: 1, more: 1 },
  writeLatency: { always: 2, more: 1 },
};

/** Where only requests and the way they take are to count: to hold the model against the library itself. */
export function onlyNetwork(oneWay: number): Costs {
  const none = <T extends object>(part: T) =>
    Object.fromEntries(Object.keys(part).map((key) => [key, 0])) as { readonly [key in keyof T]: 0 };
  return {
    client: none(costs.client),
    tablet: none(costs.tablet),
    coordinator: none(costs.coordinator),
    network: oneWay,
    readLatency: none(costs.readLatency),
    writeLatency: none(costs.writeLatency),
  };
}
