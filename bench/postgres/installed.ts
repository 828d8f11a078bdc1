import { existsSync } from "node:fs";

/**
 * False, with a line on stderr, if there is no PostgreSQL server to test with; a build machine must
 * have one.
 */
export function postgresIsInstalled(): boolean {
  const installed = existsSync("/usr/lib/postgresql") || process.env.CI !== undefined;
  if (!installed) process.stderr.write("SKIPPED: no PostgreSQL server is installed in /usr/lib/postgresql\n");
  return installed;
}
