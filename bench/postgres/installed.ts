import { existsSync } from "node:fs";

/**
 * Returns false, with a line on stderr, if there is no PostgreSQL server to test with. On a build
 * machine it always returns true, so that tests fail there without a server.
 */
export function postgresIsInstalled(): boolean {
  const installed = existsSync("/usr/lib/postgresql") || process.env.CI !== undefined;
  if (!installed) process.stderr.write("SKIPPED: no PostgreSQL server is installed in /usr/lib/postgresql\n");
  return installed;
}
