import { isIP } from "node:net";

/** Whether an address is a loopback address, which no other machine reaches. */
export function isLoopback(address: string): boolean {
  const plain = address.replace(/^\[|\]$/g, "").replace(/^::ffff:/i, "");
  if (isIP(plain) === 4) return plain.startsWith("127.");
  return plain === "::1";
}

/** Whether only this machine reaches a server at this host. */
export function isLoopbackHost(host: string): boolean {
  return host === "localhost" || isLoopback(host);
}

/** The name in a `Host` header, without its port. Undefined if the header is malformed. */
export function hostName(header: string | undefined): string | undefined {
  const found = /^(\[[0-9a-f:.]+\]|[^:/?#@\s[\]]+)(?::\d{1,5})?$/i.exec(header ?? "");
  return found?.[1]?.toLowerCase();
}
