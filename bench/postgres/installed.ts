import { existsSync } from "node:fs";

/** False, said on stderr, where there is no PostgreSQL server to test with; a build machine has to have one. */
export function postgresIsInstalled(): boolean {
  const installed = existsSync("/usr/lib/postgresql") || process.env.CI !== undefined;
  if (!installed) process.stderr.write("SKIPPED: no PostgreSQL server is installed in /usr/lib/postgresql\n");
  return installed;
}
