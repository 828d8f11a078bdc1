import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { slugOf } from "../../docs/.vitepress/slug.js";
import { documentsOf, type Part, root } from "./files.js";
import { type Monitored, monitored } from "./monitored.js";
import {
  alerts,
  alertsFile,
  dashboard,
  groupedIn,
  type Panel,
  panelQueries,
  type Selected,
  selectedIn,
} from "./monitoring.js";

/** Labels that Prometheus itself adds to what it scrapes. */
const ofPrometheus = ["job", "instance"];

/** The cases with which promtool tests the alerts. */
const alertCasesFile = "prometheus/alerts.test.yml";

/** The values of each label of each metric. */
type Exposed = ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>>;

function exposedBy(text: string): Exposed {
  const all = new Map<string, Map<string, Set<string>>>();
  for (const [, name = "", labels = ""] of text.matchAll(/^(percolator_\w+)(?:\{(.*)\})? \S+$/gm)) {
    const known = all.get(name) ?? new Map<string, Set<string>>();
    all.set(name, known);
    for (const [, label = "", value = ""] of labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
      const values = known.get(label) ?? new Set<string>();
      known.set(label, values.add(value));
    }
  }
  return all;
}

const expressions = [
  ...alerts.map(({ alert, expr }) => [alert, expr] as const),
  ...panelQueries.map(({ title, expr }) => [title, expr] as const),
];

describe("the metrics of databases at work", () => {
  let world: Monitored;
  let exposed: Exposed;
  beforeAll(async () => {
    world = await monitored();
    const texts = await Promise.all(world.served.map(async ({ url }) => (await fetch(url)).text()));
    exposed = exposedBy(texts.join("\n"));
  });
  afterAll(() => world[Symbol.asyncDispose]());

  function mistakesIn({ name, matchers }: Selected): readonly string[] {
    const labels = exposed.get(name);
    if (labels === undefined) return [`no metric ${name}`];
    return matchers
      .filter(({ label }) => !ofPrometheus.includes(label))
      .flatMap(({ label, values }) =>
        values
          .filter((value) => (value === ".*" ? !labels.has(label) : !labels.get(label)?.has(value)))
          .map((value) => `no ${name} with ${label}="${value}"`),
      );
  }

  test.each(expressions)("have all that %s uses: %s", (_, expr) => {
    const selected = selectedIn(expr);
    expect(selected.length).toBeGreaterThan(0);
    expect(selected.flatMap(mistakesIn)).toEqual([]);
    const known = new Set(selected.flatMap(({ name }) => [...exposed.get(name)!.keys()]));
    expect(groupedIn(expr).filter((label) => !ofPrometheus.includes(label) && !known.has(label))).toEqual([]);
  });

  test("have all that the dashboard's variables use", () => {
    const definitions = dashboard.templating.list.flatMap(({ definition }) => definition ?? []);
    expect(definitions).toHaveLength(2);
    for (const definition of definitions) {
      const [, metric = "", label = ""] = /^label_values\((\w+).*, (\w+)\)$/.exec(definition)!;
      expect([...(exposed.get(metric)?.keys() ?? []), ...ofPrometheus]).toContain(label);
    }
  });
});

test("the check of expressions notices wrong names, labels and values", () => {
  expect(selectedIn('sum by (a, b) (rate(percolator_x_total{c="d", e=~"f|g"}[5m])) > percolator_y')).toEqual([
    {
      name: "percolator_x_total",
      matchers: [
        { label: "c", values: ["d"] },
        { label: "e", values: ["f", "g"] },
      ],
    },
    { name: "percolator_y", matchers: [] },
  ]);
  expect(groupedIn("max by (a, b) (x) / sum by (c) (y)")).toEqual(["a", "b", "c"]);
});

describe("the alerts", () => {
  const page = readFileSync(join(root, "docs/alerts.md"), "utf8");
  const headings = [...page.matchAll(/^##+ (.+)$/gm)].map(([, heading]) => heading!);

  test.each(alerts)(
    "$alert leads to a section of the docs that is named after it",
    ({ alert, annotations }) => {
      const [path, anchor] = annotations.runbook_url.split("#");
      expect(path).toBe("docs/alerts.md");
      const heading = headings.find((each) => slugOf(each) === anchor);
      expect(heading?.toLowerCase().replaceAll(" ", "")).toBe(alert.replace("Percolator", "").toLowerCase());
    },
  );

  test("each has its own name", () => {
    expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length);
  });
});

/** Runs Prometheus' own tool on files in `deploy/prometheus`, or on a file with these rules. */
function promtool(...args: readonly string[]): string {
  const { error, status, stdout, stderr } = spawnSync("promtool", args, { cwd: root, encoding: "utf8" });
  if (error !== undefined)
    throw new Error(
      "promtool cannot be started. It checks the alerts and the dashboard's queries. On Debian, install it with " +
        "`apt-get install --no-install-recommends prometheus`.",
      { cause: error },
    );
  if (status !== 0) throw new Error(`promtool ${args.join(" ")}\n${stdout}${stderr}`);
  return stdout;
}

describe("promtool", () => {
  test("accepts the alerts", () => {
    expect(promtool("check", "rules", `deploy/${alertsFile}`)).toContain(`${alerts.length} rules found`);
  });

  test("finds that the alerts fire when they should", () => {
    expect(promtool("test", "rules", `deploy/${alertCasesFile}`)).toContain("SUCCESS");
  });

  test("has a case in which each alert fires", () => {
    const cases: readonly Part[] = documentsOf(alertCasesFile)[0].tests;
    const expected = cases.flatMap(({ alert_rule_test }) => alert_rule_test as readonly Part[]);
    const fire = new Set(expected.flatMap(({ alertname, exp_alerts }) => exp_alerts.map(() => alertname)));
    expect(alerts.map(({ alert }) => alert).filter((alert) => !fire.has(alert))).toEqual([]);
  });

  test("accepts the queries of the dashboard", () => {
    const folder = mkdtempSync(join(tmpdir(), "percolator-promtool-"));
    try {
      const file = join(folder, "rules.json");
      const rules = panelQueries.map(({ expr }, index) => ({ record: `panel:${index}`, expr }));
      writeFileSync(file, JSON.stringify({ groups: [{ name: "panels", rules }] }));
      expect(promtool("check", "rules", file)).toContain(`${rules.length} rules found`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("the dashboard", () => {
  const { panels } = dashboard;

  test("has a query or more in each panel, and panels of their own ids", () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    for (const { type, title, targets } of panels)
      expect(targets?.length ?? 0, title).toBeGreaterThan(type === "row" ? -1 : 0);
  });

  test("has no panel that overlaps another one or leaves the grid", () => {
    const overlap = (a: Panel, b: Panel) =>
      a.gridPos.x < b.gridPos.x + b.gridPos.w &&
      b.gridPos.x < a.gridPos.x + a.gridPos.w &&
      a.gridPos.y < b.gridPos.y + b.gridPos.h &&
      b.gridPos.y < a.gridPos.y + a.gridPos.h;
    for (const [index, panel] of panels.entries()) {
      expect(panel.gridPos.x + panel.gridPos.w).toBeLessThanOrEqual(24);
      expect(panels.slice(index + 1).filter((other) => overlap(panel, other))).toEqual([]);
    }
  });

  test("uses only variables that it declares", () => {
    const declared = [...dashboard.templating.list.map(({ name }) => name), "__rate_interval"];
    const used = [...JSON.stringify(dashboard).matchAll(/\$\{?(\w+)\}?/g)].map(([, name]) => name!);
    expect([...new Set(used)].filter((name) => !declared.includes(name) && name !== "__all")).toEqual([]);
  });
});
