import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { root } from "./files.js";
import { type Monitored, monitored } from "./monitored.js";
import { alerts, alertsFile, panelQueries } from "./monitoring.js";

/** Runs Prometheus itself on databases at work, with the alerts and the dashboard's queries. */

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return address.port;
}

/** Starts Prometheus, which scrapes the world every second. Resolves when it answers. */
async function startPrometheus({ served }: Monitored) {
  const folder = mkdtempSync(join(tmpdir(), "percolator-prometheus-"));
  const config = {
    global: { scrape_interval: "1s", evaluation_interval: "1s" },
    rule_files: [join(root, "deploy", alertsFile)],
    scrape_configs: [
      {
        job_name: "shop",
        static_configs: served.map(({ url, instance }) => ({
          targets: [new URL(url).host],
          labels: { instance },
        })),
      },
    ],
  };
  const file = join(folder, "prometheus.json");
  writeFileSync(file, JSON.stringify(config));
  const url = `http://127.0.0.1:${await freePort()}`;
  const args = [
    `--config.file=${file}`,
    `--storage.tsdb.path=${join(folder, "data")}`,
    `--web.listen-address=${new URL(url).host}`,
  ];
  const child = spawn("prometheus", args, { stdio: ["ignore", "ignore", "pipe"] });
  let printed = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    printed = (printed + text).slice(-10_000);
  });
  child.on("error", (error) => {
    printed += `${error}. On Debian, install it with "apt-get install --no-install-recommends prometheus".`;
  });
  const exited = once(child, "close");
  const stop = async () => {
    child.kill("SIGKILL");
    await exited.catch(() => undefined);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await eventually(async () => {
      if (child.exitCode !== null || child.pid === undefined) throw new Error(printed);
      expect((await fetch(`${url}/-/ready`)).status).toBe(200);
    });
  } catch (error) {
    await stop();
    throw new Error(`Prometheus did not start.\n${printed}`, { cause: error });
  }
  const ask = async (path: string) => {
    const response = await fetch(`${url}/api/v1/${path}`);
    const { status, data, error } = (await response.json()) as Answer;
    if (status !== "success") throw new Error(`${path}: ${error}`);
    return data;
  };
  return { ask, [Symbol.asyncDispose]: stop };
}

// biome-ignore lint/suspicious/noExplicitAny: Prometheus' answers are read only here
type Answer = { readonly status: string; readonly error?: string; readonly data: any };

const eventually = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 60_000, interval: 250 });

test("in Prometheus, each of the dashboard's queries has a result, and the alert for parked changes waits to fire", async () => {
  await using world = await monitored();
  await using prometheus = await startPrometheus(world);
  const unanswered = async () => {
    const results = await Promise.all(
      panelQueries.map(async ({ title, expr }) => {
        const { result } = await prometheus.ask(`query?query=${encodeURIComponent(expr)}`);
        return result.length > 0 ? [] : [`${title}: ${expr}`];
      }),
    );
    return results.flat();
  };
  await eventually(async () => {
    await world.work();
    expect(await unanswered()).toEqual([]);
  });
  const { groups } = await prometheus.ask("rules");
  type Rule = { readonly name: string; readonly state: string; readonly health: string };
  const rules: readonly Rule[] = groups.flatMap((group: { readonly rules: readonly Rule[] }) => group.rules);
  expect(rules.map(({ name }) => name)).toEqual(alerts.map(({ alert }) => alert));
  await eventually(async () => {
    const { alerts: active } = await prometheus.ask("alerts");
    const names = active.map(
      (each: { readonly labels: { readonly alertname: string } }) => each.labels.alertname,
    );
    expect(names).toContain("PercolatorChangesParked");
    expect(names).not.toContain("PercolatorNoWorker");
    expect(names).not.toContain("PercolatorCollectionBehind");
    expect(names).not.toContain("PercolatorTimestampsAhead");
  });
});
