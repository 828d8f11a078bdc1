import { parseArgs } from "node:util";

export const usage = `npm run shop -- [--data postgres://USER@HOST/DATABASE] [--orders N] [--storm SECONDS] [--verify] [--serve]

  --data      the database with the shop. Its tables are made in the schema "shop" if they do not exist.
              Default: a PostgreSQL server of this program's own, which is removed at the end.
  --orders    how many orders a new shop has, from 1 to 10000000. Default: 100000.
  --storm     writes by SQL at random for so many seconds.
  --verify    compares every derived table with a recomputation in SQL. The exit code is 1 if one differs.
  --serve     serves totals, search and the dashboard until Ctrl-C.
  --port      of --serve. Default: 8090.`;

export interface Options {
  readonly data: string | undefined;
  readonly orders: number;
  readonly stormSeconds: number;
  readonly verify: boolean;
  readonly serve: boolean;
  readonly port: number;
}

/** The command line's mistake, in words. */
export class UsageError extends Error {}

/** Reads the command line. Throws a {@link UsageError}. */
export function readOptions(args: readonly string[]): Options {
  let values: ReturnType<typeof parse>;
  try {
    values = parse(args);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
  const whole = (name: "orders" | "storm" | "port", least: number, most: number): number => {
    const number = Number(values[name]);
    if (Number.isInteger(number) && number >= least && number <= most) return number;
    throw new UsageError(`--${name} must be a whole number from ${least} to ${most}, not ${values[name]}.`);
  };
  const { data } = values;
  if (data !== undefined && !/^postgres(ql)?:\/\//.test(data)) {
    throw new UsageError(`--data must be a location on PostgreSQL, such as postgres://USER@HOST/DATABASE.`);
  }
  return {
    data,
    orders: whole("orders", 1, 10_000_000),
    stormSeconds: whole("storm", 0, 86_400),
    verify: values.verify,
    serve: values.serve,
    port: whole("port", 0, 65_535),
  };
}

function parse(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    options: {
      data: { type: "string" },
      orders: { type: "string", default: "100000" },
      storm: { type: "string", default: "0" },
      verify: { type: "boolean", default: false },
      serve: { type: "boolean", default: false },
      port: { type: "string", default: "8090" },
    },
  }).values;
}
