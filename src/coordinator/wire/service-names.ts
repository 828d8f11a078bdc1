/** The name of the coordinator's service in gRPC. */
export const serviceName = "percolator.coordinator.v1.Coordinator";

/** The service name under which the health service tells whether this very coordinator leads. */
export const leaderServiceName = `${serviceName}/leader`;
