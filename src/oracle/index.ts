export { counterOracle } from "./counter.js";
export { currentTimestamp } from "./current-timestamp.js";
export {
  type GatheredOracle,
  type GatheredOracleOptions,
  type GatheringOptions,
  gatheredOracle,
} from "./gathered.js";
export { OracleLeader } from "./leader.js";
export type { LeaderFailure, LeaderStatus, OracleLeaderOptions } from "./leader-options.js";
export type { LeaseRecord } from "./lease-record.js";
export { lookAgain, oracleTable, type ReadLeaseOptions, readLease, type SeenLease } from "./lease-row.js";
export type { Oracle } from "./oracle.js";
export { lastTimestamp, type TimestampRange } from "./range.js";
export { type WithinOptions, within } from "./within.js";
