import { Client, credentials } from "@grpc/grpc-js";
import { type Plain, protos } from "./service.js";

/** A cell as Bigtable stores it. Qualifier and value are base64. */
type RawCell = readonly [family: string, qualifier: string, micros: string, value: string];

/** A table's families, and its cells by base64 row key. */
interface RawTable {
  readonly families: readonly string[];
  readonly rows: Readonly<Record<string, readonly RawCell[]>>;
}

export type RawTables = Readonly<Record<string, RawTable>>;

const data = "google.bigtable.v2.Bigtable";
const admin = "google.bigtable.admin.v2.BigtableTableAdmin";
const parent = "projects/project/instances/instance";
const schemaView = 2;
const millis = 1;

/** The tables of `bigtable://project/instance` in an emulator, read and written without this library's store. */
export class RawInstance implements Disposable {
  readonly #client: Client;

  constructor(host: string) {
    this.#client = new Client(host, credentials.createInsecure());
  }

  async read(): Promise<RawTables> {
    const [listed] = await this.#call(admin, "ListTables", { parent });
    const tables: Record<string, RawTable> = {};
    for (const { name } of listed!.tables as readonly Plain[]) {
      const path = String(name);
      const [table] = await this.#call(admin, "GetTable", { name: path, view: schemaView });
      const families = Object.keys(table!.columnFamilies as Plain);
      tables[path.slice(path.lastIndexOf("/") + 1)] = { families, rows: await this.#readRows(path) };
    }
    return tables;
  }

  async write(tables: RawTables): Promise<void> {
    for (const [tableId, { families, rows }] of Object.entries(tables)) {
      const columnFamilies = Object.fromEntries(families.map((family) => [family, {}]));
      const table = { columnFamilies, granularity: millis };
      await this.#call(admin, "CreateTable", { parent, tableId, table });
      for (const [row, cells] of Object.entries(rows)) {
        const mutations = cells.map(([familyName, qualifier, timestampMicros, value]) => ({
          setCell: {
            familyName,
            columnQualifier: bytesOf(qualifier),
            timestampMicros,
            value: bytesOf(value),
          },
        }));
        const tableName = `${parent}/tables/${tableId}`;
        await this.#call(data, "MutateRow", { tableName, rowKey: bytesOf(row), mutations });
      }
    }
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }

  async #readRows(tableName: string): Promise<Record<string, RawCell[]>> {
    const rows: Record<string, RawCell[]> = {};
    let [row, family, qualifier] = ["", "", ""];
    for (const { chunks = [] } of await this.#call(data, "ReadRows", { tableName })) {
      for (const chunk of chunks as readonly Plain[]) {
        const { rowKey, familyName, qualifier: named, timestampMicros, value, valueSize } = chunk;
        if (Number(valueSize ?? 0) !== 0)
          throw new Error("A value that comes in parts is not supported here.");
        if (rowKey !== undefined) row = textOf(rowKey);
        if (familyName !== undefined) family = String((familyName as Plain).value);
        if (named !== undefined) qualifier = textOf((named as Plain).value);
        const cells = rows[row] ?? [];
        cells.push([family, qualifier, String(timestampMicros ?? 0), textOf(value)]);
        rows[row] = cells;
      }
    }
    return rows;
  }

  #call(service: string, name: string, plain: Plain): Promise<readonly Plain[]> {
    const method = protos.lookupService(service).methods[name]!;
    const [request, response] = [method.resolvedRequestType!, method.resolvedResponseType!];
    const call = this.#client.makeServerStreamRequest(
      `/${service}/${name}`,
      (message: Plain) => Buffer.from(request.encode(request.fromObject(message)).finish()),
      (bytes: Buffer) => response.toObject(response.decode(bytes), { longs: String }) as Plain,
      plain,
    );
    return call.toArray() as Promise<Plain[]>;
  }
}

function bytesOf(text: string): Buffer {
  return Buffer.from(text, "base64");
}

function textOf(bytes: unknown): string {
  return Buffer.from((bytes ?? []) as Uint8Array).toString("base64");
}
