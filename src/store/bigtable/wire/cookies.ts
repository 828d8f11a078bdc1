import type { Metadata, MetadataValue } from "../packages.js";

const prefix = "x-goog-cbt-cookie";

/** What the service sent with a failed call so that the next try finds its way; each goes back with that try. */
export type RoutingCookies = ReadonlyMap<string, MetadataValue>;

/** The cookies of an answer's headers or trailers; undefined if there are none. */
export function cookiesOf(metadata: Metadata | undefined): RoutingCookies | undefined {
  let cookies: Map<string, MetadataValue> | undefined;
  for (const [key, value] of Object.entries(metadata?.getMap() ?? {})) {
    if (!key.startsWith(prefix)) continue;
    cookies ??= new Map();
    cookies.set(key, value);
  }
  return cookies;
}

/** Newer cookies take the place of older ones of the same name. */
export function joinCookies(
  older: RoutingCookies | undefined,
  newer: RoutingCookies | undefined,
): RoutingCookies | undefined {
  if (older === undefined || newer === undefined) return newer ?? older;
  return new Map([...older, ...newer]);
}

/** The metadata of a call with its cookies; the metadata itself if there are none. */
export function withCookies(metadata: Metadata, cookies: RoutingCookies | undefined): Metadata {
  if (cookies === undefined) return metadata;
  const own = metadata.clone();
  for (const [key, value] of cookies) own.set(key, value);
  return own;
}
