import { deployed, documentsOf } from "./files.js";

/** The alerts and the dashboard of `deploy/`, as far as tests read them. */

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}

export const alertsFile = "prometheus/alerts.yml";

export const alerts: readonly Alert[] = documentsOf(alertsFile)[0].groups.flatMap(
  ({ rules }: { readonly rules: readonly Alert[] }) => rules,
);

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

interface Variable {
  readonly name: string;
  readonly type: string;
  readonly definition?: string;
}

export const dashboard: {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly Variable[] };
} = JSON.parse(deployed("grafana/percolator.json"));

/** The queries of the dashboard's panels, with values in place of its variables. */
export const panelQueries: readonly { readonly title: string; readonly expr: string }[] =
  dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({
      title,
      expr: expr.replaceAll("$__rate_interval", "5m").replaceAll(/\$(job|observer)/g, ".*"),
    })),
  );

/** A metric that an expression selects, the values that it demands of labels, and the labels by which it is grouped. */
export interface Selected {
  readonly name: string;
  readonly matchers: readonly { readonly label: string; readonly values: readonly string[] }[];
}

/** Returns the metrics that an expression of Prometheus selects. */
export function selectedIn(expr: string): readonly Selected[] {
  return [...expr.matchAll(/\b(percolator_\w+)(?:\{([^}]*)\})?/g)].map(([, name = "", matchers = ""]) => ({
    name,
    matchers: [...matchers.matchAll(/(\w+)=~?"([^"]*)"/g)].map(([, label = "", values = ""]) => ({
      label,
      values: values.split("|"),
    })),
  }));
}

/** Returns the labels by which an expression groups. */
export function groupedIn(expr: string): readonly string[] {
  return [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, labels = ""]) => labels.split(/,\s*/));
}
