export { type CoordinatorClient, connectCoordinator } from "./client.js";
export type { ConnectOptions } from "./client-options.js";
export type { ClientTls } from "./client-security.js";
export { type Coordinator, type CoordinatorFigures, startCoordinator } from "./coordinator.js";
export { coordinatorLimits } from "./limits.js";
export { type CoordinatorOptions, type CoordinatorTls, checkServerCertificate } from "./options.js";
export type { Pem } from "./pem.js";
export { type Secrets, SecretsWatch, type SecretsWatchOptions } from "./secrets-watch.js";
export { leaderServiceName } from "./service-names.js";
