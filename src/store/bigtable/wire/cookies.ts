import type { Metadata, MetadataValue } from "../packages.js";

const prefix = "x-goog-cbt-cookie";

/**
 * Routing cookies: the service sends them with a failed call, and the retry sends them back so that
 * the service routes it to the same place.
 */
export type RoutingCookies = ReadonlyMap<string, MetadataValue>;

/** The routing cookies in headers or trailers. Undefined if there are none. */
export function cookiesOf(metadata: Metadata | undefined): RoutingCookies | undefined {
  let cookies: Map<string, MetadataValue> | undefined;
  for (const [key, value] of Object.entries(metadata?.getMap() ?? {})) {
    if (!key.startsWith(prefix)) continue;
    cookies ??= new Map();
    cookies.set(key, value);
  }
  return cookies;
}

/** Newer cookies replace older ones of the same name. */
export function joinCookies(
  older: RoutingCookies | undefined,
  newer: RoutingCookies | undefined,
): RoutingCookies | undefined {
  if (older === undefined || newer === undefined) return newer ?? older;
  return new Map([...older, ...newer]);
}

/** The metadata with the cookies added. If there are none, the metadata itself. */
export function withCookies(metadata: Metadata, cookies: RoutingCookies | undefined): Metadata {
  if (cookies === undefined) return metadata;
  const own = metadata.clone();
  for (const [key, value] of cookies) own.set(key, value);
  return own;
}
