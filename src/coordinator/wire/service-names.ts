/** The name of the coordinator's service in gRPC. */
export const serviceName = "percolator.coordinator.v1.Coordinator";

/** Under this name, the health service of a coordinator reports whether that coordinator leads. */
export const leaderServiceName = `${serviceName}/leader`;
