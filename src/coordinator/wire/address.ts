import { InvalidArgumentError } from "../../errors/index.js";

/** A host with a port, as in `10.0.0.7:4100` or `[::1]:4100`. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

export function isAddress(text: string): boolean {
  return partsOf(text) !== undefined;
}

/** Parses `HOST:PORT`. An IPv6 address must be in brackets. */
export function parseAddress(text: string, what: string): Address {
  const parts = partsOf(text);
  if (parts !== undefined) return parts;
  throw new InvalidArgumentError(
    `${what} is ${JSON.stringify(text)}, but it must be HOST:PORT, such as 10.0.0.7:4100 or [::1]:4100.`,
  );
}

function partsOf(text: string): Address | undefined {
  const found = /^(?:\[([0-9a-f:.%]+)\]|([^\s:[\]/]+)):(\d{1,5})$/i.exec(text);
  const port = Number(found?.[3]);
  return found !== null && port <= 65_535 ? { host: found[1] ?? found[2]!, port } : undefined;
}

export function formatAddress({ host, port }: Address): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Whether the address is reachable only from this machine. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

/** Whether the host means all addresses of the machine. A client cannot connect to such a host. */
export function isWildcard(host: string): boolean {
  const url = `http://${host.includes(":") ? `[${host}]` : host}`;
  // The parser of URLs knows the other forms too, such as `0` and `::0`.
  return URL.canParse(url) && ["0.0.0.0", "[::]"].includes(new URL(url).hostname);
}
