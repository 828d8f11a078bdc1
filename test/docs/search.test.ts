import { expect, test } from "vitest";
import { siteSearch } from "./search.js";

/** What people search for, and the page that the site's search must find first. */
const expected: Readonly<Record<string, string>> = {
  subscribe: "live-queries.md",
  "live query": "live-queries.md",
  "change data capture": "change-feeds.md",
  "materialized view": "derivations.md",
  pagination: "pagination.md",
  enum: "enums.md",
  esbuild: "operations.md",
  cron: "cron.md",
  webhook: "webhooks.md",
  email: "webhooks.md",
  "dead letter": "webhooks.md",
  "dead letter queue": "webhooks.md",
  migration: "schema-evolution.md",
  "multi-tenant": "multi-tenant.md",
  ttl: "expiry.md",
  expire: "expiry.md",
  gdpr: "erasure.md",
  "personal data": "erasure.md",
  csv: "import-rows.md",
  backup: "backup-and-restore.md",
  restore: "backup-and-restore.md",
  semver: "versioning.md",
  alerts: "alerts.md",
  opentelemetry: "observability.md",
  convex: "coming-from-backends.md",
  prisma: "coming-from-backends.md",
  "deno kv": "coming-from-backends.md",
  "graphile-worker": "coming-from.md",
};

const site = await siteSearch();

test.each(Object.entries(expected))("a search for %s finds %s first", (words, page) => {
  expect(site.search(words)[0]).toBe(page);
});

test("a search for words that are on no page finds nothing", () => {
  expect(site.search("qwertzuiop")).toEqual([]);
});
