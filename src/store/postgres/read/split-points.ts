import { equalBytes } from "../../bytes.js";
import { quoteText } from "../table/names.js";
import { bytesOf } from "../wire/arrays.js";
import { type Connections, statement } from "../wire/connections.js";

/** Pages of the server, of 8 KB each, that a sample reads. */
const samplePages = 1_000;
/** Fewer cells than this for each piece are not worth dividing. */
const minCells = 100;

/** Rows that divide a table, from a sample of the cells. */
export async function readSplitPoints(
  connections: Connections,
  schema: string,
  table: number,
  most: number,
): Promise<readonly Uint8Array[]> {
  const doing = "list split points";
  const size = statement(`select pg_relation_size(${quoteText(`${schema}.cells`)}::regclass) / 8192`);
  const pages = Number((await connections.repeat(size, [], doing))[0]![0]);
  const percent = Math.min(100, (100 * samplePages) / Math.max(1, pages));
  const query = statement(
    'select s."row" from (select x."row", row_number() over (order by x."row") n, count(*) over () total ' +
      `from ${schema}.cells x tablesample system ($3::float4) where x.tbl = $1) s ` +
      `where s.total >= ${minCells} * ($2::int8 + 1) and s.n > 1 ` +
      "and s.n % (s.total / ($2::int8 + 1)) = 0 order by s.n limit $2::int8",
  );
  const rows = await connections.repeat(query, [table, most, percent], doing);
  const points: Uint8Array[] = [];
  for (const [row] of rows) {
    const point = bytesOf(row!);
    const last = points.at(-1);
    if (last === undefined || !equalBytes(last, point)) points.push(point);
  }
  return points;
}
