export { type CoordinatorClient, connectCoordinator } from "./client.js";
export type { ClientTls, ConnectOptions } from "./client-options.js";
export { type Coordinator, type CoordinatorFigures, startCoordinator } from "./coordinator.js";
export { leaderServiceName } from "./health.js";
export { coordinatorLimits } from "./limits.js";
export { type CoordinatorOptions, type CoordinatorTls, checkServerCertificate } from "./options.js";
export type { Pem } from "./pem.js";
export { type Secrets, SecretsWatch, type SecretsWatchOptions } from "./secrets-watch.js";
