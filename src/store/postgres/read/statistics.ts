import { quoteText } from "../table/names.js";
import { type Connections, statement } from "../wire/connections.js";

/** Figures of the schema and of this process's connections. `cells` is the server's estimate. */
export async function readStatistics(
  connections: Connections,
  schema: string,
): Promise<Readonly<Record<string, number>>> {
  const name = `${quoteText(`${schema}.cells`)}::regclass`;
  const rows = await connections.repeat(
    statement(
      `select pg_table_size(${name}), pg_indexes_size(${name}), greatest(c.reltuples, 0)::int8, ` +
        `(select count(*) from ${schema}.tables), (select count(*) from ${schema}.writers), ` +
        `coalesce(s.n_dead_tup, 0) from pg_class c left join pg_stat_all_tables s on s.relid = c.oid ` +
        `where c.oid = ${name}`,
    ),
    [],
    "count",
  );
  const [bytes, indexBytes, cells, tables, writers, deadCells] = rows[0]!.map(Number);
  const figures = { bytes, indexBytes, cells, deadCells, tables, writers, ...connections.counts };
  return figures as Readonly<Record<string, number>>;
}
