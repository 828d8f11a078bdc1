import { z } from "zod";
import { barChart } from "../chart/bars.js";
import type { Drawing, Figure, FigureResults, Plot } from "../figure.js";
import { type Column, percent, range, ratio, right, short, table, whole } from "../words.js";

const spread = z.object({ median: z.number(), low: z.number(), high: z.number() });

const roundSchema = z.object({
  conflictShare: z.number(),
  requests: z.record(z.string(), z.number()),
  othersShare: z.number().optional(),
  wrong: z.array(z.string()),
});

const schema = z.object({
  figures: z.array(
    z.object({
      processes: z.number(),
      transactionsPerSecond: spread,
      factor: spread,
      rounds: z.array(roundSchema),
    }),
  ),
});

type ProcessesFigure = z.output<typeof schema>["figures"][number];

const stores = [
  { name: "lmdb", shown: "LMDB" },
  { name: "bigtable", shown: "Bigtable's emulator" },
];

/** What requests are called in the results, in the order in which they are shown. */
const kinds: Readonly<Record<string, string>> = {
  read: "reads",
  scan: "scans",
  conditionalMutation: "conditional mutations",
  plainMutation: "plain mutations",
  timestamp: "timestamps",
};

export const brokerage: Figure = {
  name: "brokerage",
  about: "transactions a second of a brokerage over processes, on LMDB and on Bigtable's emulator (figure 9)",
  measurements: [
    {
      name: "lmdb",
      script: "brokerage",
      args: {
        small: ["--store", "lmdb", "--processes", "2", "--rounds", "1", "--transactions", "10000"],
        full: ["--store", "lmdb", "--processes", "2", "--rounds", "5"],
      },
      minutes: { small: 3, full: 20 },
    },
    {
      name: "bigtable",
      script: "brokerage",
      args: {
        small: ["--store", "bigtable", "--processes", "2", "--rounds", "1", "--transactions", "1000"],
        full: ["--store", "bigtable", "--processes", "2", "--rounds", "5"],
      },
      minutes: { small: 4, full: 30 },
    },
  ],
  draw(results): Drawing {
    const found = stores.map((store) => ({
      ...store,
      figures: results.get(store.name, schema)?.figures ?? [],
    }));
    const requests = found.flatMap(({ shown, figures }) => requestTable(shown, figures));
    return { tables: [rates(found), ...requests], plots: [...ratePlot(found), ...requestPlot(results)] };
  },
};

interface Store {
  readonly shown: string;
  readonly figures: readonly ProcessesFigure[];
}

function rates(found: readonly Store[]): string {
  const rows = found.flatMap(({ shown, figures }) =>
    figures.map(({ processes, transactionsPerSecond, factor, rounds }) => [
      shown,
      whole(processes),
      whole(transactionsPerSecond.median),
      range(transactionsPerSecond, whole),
      ratio(factor.median),
      percent(mean(rounds.map(({ conflictShare }) => conflictShare))),
      whole(rounds.reduce((sum, { wrong }) => sum + wrong.length, 0)),
    ]),
  );
  const columns: readonly Column[] = [
    "store",
    right("processes"),
    right("transactions/s"),
    "quartiles",
    right("times one process"),
    right("commits in conflict"),
    right("wrong in the audit"),
  ];
  return table(columns, rows);
}

function ratePlot(found: readonly Store[]): readonly Plot[] {
  const title = "Transactions of a brokerage, by the number of processes";
  const groups = found.flatMap(({ shown, figures }) =>
    figures.map(({ processes, factor }) => ({
      name: `${shown}, ${processes === 1 ? "1 process" : `${processes} processes`}`,
      bars: [{ value: factor.median, low: factor.low, high: factor.high, text: factor.median.toFixed(2) }],
      bound: processes,
    })),
  );
  if (groups.length === 0) return [];
  const svg = barChart({
    title,
    description:
      "Transactions a second with several processes, as a multiple of what one process does, on LMDB and on Bigtable's emulator, on one machine.",
    axis: "times one process",
    series: ["factor"],
    groups,
    boundName: "each process adds as much as the first",
  });
  return [{ name: "brokerage", alt: title, svg }];
}

function kindsOf(figures: readonly ProcessesFigure[]): readonly string[] {
  const asked = new Set(
    figures.flatMap(({ rounds }) => rounds.flatMap(({ requests }) => Object.keys(requests))),
  );
  return [...asked].sort((a, b) => Object.keys(kinds).indexOf(a) - Object.keys(kinds).indexOf(b));
}

/** An embedded store is asked nothing. */
function requestTable(shown: string, figures: readonly ProcessesFigure[]): readonly string[] {
  const names = kindsOf(figures);
  if (names.length === 0) return [];
  const rows = figures.map(({ processes, rounds }) => {
    const counts = names.map((name) => mean(rounds.map(({ requests }) => requests[name] ?? 0)));
    return [whole(processes), ...counts.map(short), short(counts.reduce((sum, count) => sum + count, 0))];
  });
  const columns = [right("processes"), ...names.map((name) => right(kinds[name] ?? name)), right("all")];
  return [`Requests to ${shown} and its oracle for each transaction:\n\n${table(columns, rows)}`];
}

function requestPlot(results: FigureResults): readonly Plot[] {
  const figures = results.get("bigtable", schema)?.figures ?? [];
  const names = kindsOf(figures);
  if (names.length === 0) return [];
  const title = "Where a transaction's requests go, on Bigtable";
  const svg = barChart({
    title,
    description:
      "Requests to the store and its oracle for each transaction of the brokerage, by kind and by the number of processes.",
    axis: "requests a transaction",
    series: figures.map(({ processes }) => (processes === 1 ? "1 process" : `${processes} processes`)),
    groups: names.map((name) => ({
      name: kinds[name] ?? name,
      bars: figures.map(({ rounds }) => {
        const value = mean(rounds.map(({ requests }) => requests[name] ?? 0));
        return { value, text: short(value) };
      }),
    })),
  });
  return [{ name: "requests", alt: title, svg }];
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}
