import { barChart } from "../figures/chart.js";
import type { Figure, Plot } from "../figures/figure.js";
import { namedProcesses, type Round, type Scaled } from "../harness/processes.js";
import { requestKinds } from "../harness/requests.js";
import { mean, percent, range, ratio, right, short, table, verdict, whole } from "../harness/words.js";

/** One round of the brokerage. */
export interface TradingRound extends Round {
  /** The share of commits that conflicted. */
  readonly conflictShare: number;
  /**
   * Requests for each transaction of a customer, the market or an observer. Empty on an embedded
   * store.
   */
  readonly requests: Readonly<Record<string, number>>;
}

export interface BrokerageResult {
  readonly options: object;
  readonly figures: readonly Scaled<TradingRound>[];
}

type Figures = BrokerageResult["figures"];

/** Two processes on a folder must be this many times as fast as one. */
const floor = 1.7;

const stores = { lmdb: "LMDB", postgres: "PostgreSQL", bigtable: "Bigtable's emulator" } as const;
const sizes = {
  lmdb: { transactions: "10000", minutes: { small: 3, full: 20 } },
  postgres: { transactions: "4000", minutes: { small: 3, full: 25 } },
  bigtable: { transactions: "500", minutes: { small: 4, full: 30 } },
} as const;

export const brokerage: Figure = {
  name: "brokerage",
  about:
    "transactions a second of a brokerage over processes, on LMDB, PostgreSQL and Bigtable's emulator (figure 9)",
  measurements: (["lmdb", "bigtable", "postgres"] as const).map((store) => ({
    name: store,
    script: "brokerage",
    args: {
      small: [
        ...["--store", store, "--processes", "2", "--rounds", "1"],
        ...["--transactions", sizes[store].transactions],
      ],
      full: ["--store", store, "--processes", "2", "--rounds", "5"],
    },
    minutes: sizes[store].minutes,
  })),
  draw(results) {
    const found = Object.entries(stores).map(
      ([name, shown]) => [shown, results.get<BrokerageResult>(name)?.figures ?? []] as const,
    );
    return {
      tables: [rateTable(found), ...found.flatMap(([shown, figures]) => requestTable(shown, figures))],
      plots: [...ratePlot(found), ...requestPlot(found[2]![1])],
    };
  },
};

export function describeBrokerage({ figures }: BrokerageResult): readonly string[] {
  return [rateTable([["", figures]]), ...requestTable("the store", figures)];
}

function rateTable(found: readonly (readonly [store: string, figures: Figures])[]): string {
  const rows = found.flatMap(([shown, figures]) =>
    figures.map(({ processes, perSecond, factor, rounds }) => [
      shown,
      whole(processes),
      whole(perSecond.median),
      range(perSecond, whole),
      ratio(factor.median),
      // A server shares the processors with both processes, so its rows have no floor.
      processes === 2 && kindsOf(figures).length === 0 ? verdict(factor.median >= floor, ratio(floor)) : "",
      percent(mean(rounds.map(({ conflictShare }) => conflictShare))),
      whole(rounds.reduce((sum, { wrong }) => sum + wrong.length, 0)),
    ]),
  );
  const columns = [
    right("processes"),
    right("transactions/s"),
    "quartiles",
    right("time of one process, divided by this time"),
  ];
  return table(
    ["store", ...columns, "floor", right("commits in conflict"), right("wrong in the audit")],
    rows,
  );
}

function ratePlot(found: readonly (readonly [store: string, figures: Figures])[]): readonly Plot[] {
  const title = "Transactions of a brokerage, by the number of processes";
  const groups = found.flatMap(([shown, figures]) =>
    figures.map(({ processes, factor }) => ({
      name: `${shown}, ${namedProcesses(processes)}`,
      bars: [{ value: factor.median, low: factor.low, high: factor.high, text: ratio(factor.median) }],
      bound: processes,
    })),
  );
  if (groups.length === 0) return [];
  const svg = barChart({
    title,
    description:
      "How many times as fast several processes do the same work as one, on LMDB, PostgreSQL and Bigtable's emulator, on one machine: the time of one process, divided by theirs.",
    axis: "times as fast as one process",
    series: ["factor"],
    groups,
    boundName: "each process adds as much as the first",
  });
  return [{ name: "brokerage", alt: title, svg }];
}

const kindsOf = (figures: Figures) =>
  Object.entries(requestKinds).filter(([kind]) =>
    figures.some(({ rounds }) => rounds.some(({ requests }) => kind in requests)),
  );

const requestsOf = (rounds: readonly TradingRound[], kind: string) =>
  mean(rounds.map(({ requests }) => requests[kind] ?? 0));

/** Empty for an embedded store, which gets no requests. */
function requestTable(shown: string, figures: Figures): readonly string[] {
  const kinds = kindsOf(figures);
  if (kinds.length === 0) return [];
  const rows = figures.map(({ processes, rounds }) => {
    const counts = kinds.map(([kind]) => requestsOf(rounds, kind));
    return [whole(processes), ...counts.map(short), short(counts.reduce((sum, count) => sum + count, 0))];
  });
  const columns = [right("processes"), ...kinds.map(([, name]) => right(name)), right("all")];
  return [`Requests to ${shown} and its oracle for each transaction:\n\n${table(columns, rows)}`];
}

function requestPlot(figures: Figures): readonly Plot[] {
  const kinds = kindsOf(figures);
  if (kinds.length === 0) return [];
  const title = "Where a transaction's requests go, on Bigtable";
  const svg = barChart({
    title,
    description:
      "Requests to the store and its oracle for each transaction of the brokerage, by kind and by the number of processes.",
    axis: "requests a transaction",
    series: figures.map(({ processes }) => namedProcesses(processes)),
    groups: kinds.map(([kind, name]) => ({
      name,
      bars: figures.map(({ rounds }) => {
        const value = requestsOf(rounds, kind);
        return { value, text: short(value) };
      }),
    })),
  });
  return [{ name: "requests", alt: title, svg }];
}
