import type { Environment } from "../../../environment/index.js";
import { StoreError } from "../../../errors/index.js";
import { type Part, parts } from "../../cell.js";
import { checkTable } from "../../check.js";
import type { BigtableLocation } from "../location.js";
import { Metadata, status } from "../packages.js";
import type { ColumnFamily, FeatureFlags, Table } from "../protos/codec.js";
import { encodeFeatureFlags } from "../protos/codec.js";
import { clientNames } from "../wire/client-names.js";
import { repeated } from "../wire/repeat.js";
import { createTable, getAppProfile, getTable, type Method, modifyColumnFamilies } from "../wire/rpc.js";
import { codeOf, storeError } from "../wire/status.js";
import type { Transport } from "../wire/transport.js";
import { tableId } from "./names.js";
import type { TablePlan } from "./table-plan.js";

/** A table that was checked and can be used. */
export interface KnownTable {
  /** The table's name in the database, for messages. */
  readonly name: string;
  /** Its full name in Bigtable. */
  readonly path: string;
  /** The metadata of each read, for routing. */
  readonly metadata: Metadata;
  /**
   * The metadata of each mutation. With it, a mutation waits for a connection until its deadline.
   * Otherwise a mutation would fail at once if there is no connection, and its outcome would count
   * as `unknown` although it was never sent.
   */
  readonly mutating: Metadata;
}

export interface TablesOptions {
  readonly location: BigtableLocation;
  /** The transport to the admin services. */
  readonly admin: Transport;
  readonly emulator: boolean;
  /** Whether to create missing tables and families. */
  readonly create: boolean;
  readonly environment: Environment;
  /** Time limit of one request, in milliseconds. */
  readonly deadlineMs: number;
  /**
   * How long a request is retried after a temporary failure, in milliseconds from its beginning.
   */
  readonly retryForMs: number;
}

const schemaView = 2;
const millis = 1;
/**
 * How long a request that changes tables may take, with its retries, in milliseconds. Creating a
 * table is slow.
 */
const creatingMs = 120_000;

const features: FeatureFlags = {
  reverseScans: true,
  lastScannedRowResponses: true,
  routingCookie: true,
  retryInfo: true,
};

/**
 * The tables of one database. Each is checked before its first use, and created if it is missing.
 */
export class Tables {
  readonly #options: TablesOptions;
  readonly #instance: string;
  readonly #known = new Map<string, KnownTable>();
  readonly #looking = new Map<string, Promise<KnownTable | undefined>>();
  readonly #closing = new AbortController();

  constructor(options: TablesOptions) {
    this.#options = options;
    const { project, instance } = options.location;
    this.#instance = `projects/${project}/instances/${instance}`;
  }

  /** Ends all retries, because the store is closing. */
  stopRepeating(): void {
    this.#closing.abort();
  }

  /** A table, if it was checked before. */
  known(name: string): KnownTable | undefined {
    return this.#known.get(name);
  }

  all(): readonly KnownTable[] {
    return [...this.#known.values()];
  }

  /** Checks a table for reading. Undefined if it does not exist. */
  find(name: string): Promise<KnownTable | undefined> {
    return this.#once(name, () => this.#look(name));
  }

  /** Checks a table for writing. Creates a missing table, if the options allow that. */
  async need(name: string): Promise<KnownTable> {
    const found = await this.find(name);
    if (found !== undefined) return found;
    const made = await this.#once(`${name}\0`, () => this.#make(name));
    return made!;
  }

  /** Checks what exists of a table, and what is missing. Refuses a table that cannot be used. */
  async plan(name: string): Promise<TablePlan> {
    const path = this.#path(name);
    const table = await this.#get(name);
    if (table === undefined) return { table: name, path, exists: false, missing: parts };
    this.#check(path, table);
    const missing = parts.filter((part) => table.columnFamilies?.[part] === undefined);
    return { table: name, path, exists: true, missing };
  }

  /**
   * Refuses an app profile that does not send all requests to one cluster, or whose row mutations
   * are not atomic.
   */
  async checkProfile(): Promise<void> {
    const { location, emulator } = this.#options;
    if (emulator) return;
    const name = `${this.#instance}/appProfiles/${location.profile}`;
    const profile = await this.#ask(getAppProfile, { name }, ["name", name]).catch((error: unknown) => {
      throw storeError(error, `read the app profile "${location.profile}"`);
    });
    const routing = profile.singleClusterRouting;
    if (routing?.allowTransactionalWrites === true) return;
    const why =
      routing === undefined
        ? "sends requests to several clusters, whose answers may differ"
        : "does not allow transactional writes";
    throw new StoreError(
      `The app profile "${location.profile}" of ${this.#instance} ${why}. Use one with single-cluster routing and ` +
        "transactional writes, and the same one in all processes of the database: `gcloud bigtable app-profiles create PROFILE " +
        `--instance=${location.instance} --route-to=CLUSTER --transactional-writes\`, then "?profile=PROFILE" in the location.`,
    );
  }

  async #once(key: string, look: () => Promise<KnownTable | undefined>): Promise<KnownTable | undefined> {
    let looking = this.#looking.get(key);
    if (looking === undefined) {
      looking = look().finally(() => this.#looking.delete(key));
      this.#looking.set(key, looking);
    }
    return await looking;
  }

  async #look(name: string): Promise<KnownTable | undefined> {
    const table = await this.#get(name);
    return table && (await this.#use(name, table));
  }

  async #get(name: string): Promise<Table | undefined> {
    checkTable(name);
    const path = this.#path(name);
    try {
      return await this.#ask(getTable, { name: path, view: schemaView }, ["name", path]);
    } catch (error) {
      if (codeOf(error) === status.NOT_FOUND) return undefined;
      throw storeError(error, `read the schema of table ${JSON.stringify(name)} (${path})`);
    }
  }

  async #make(name: string): Promise<KnownTable> {
    const path = this.#path(name);
    const doing = `create table ${JSON.stringify(name)} (${path})`;
    if (!this.#options.create) {
      throw new StoreError(
        `The table ${JSON.stringify(name)} does not exist (${path}), and the store was opened without \`create\`. Create the ` +
          "database's tables with `percolator init`.",
      );
    }
    const columnFamilies: Record<string, ColumnFamily> = {};
    for (const part of parts) columnFamilies[part] = {};
    const tableId = path.slice(path.lastIndexOf("/") + 1);
    const request = { parent: this.#instance, tableId, table: { columnFamilies, granularity: millis } };
    try {
      const made = await this.#ask(createTable, request, ["parent", this.#instance], creatingMs);
      return await this.#use(name, made);
    } catch (error) {
      if (codeOf(error) === status.ALREADY_EXISTS) {
        const made = await this.#look(name);
        if (made !== undefined) return made;
      }
      if (codeOf(error) === status.PERMISSION_DENIED) throw mayNotMake(error, doing);
      throw storeError(error, doing);
    }
  }

  /**
   * Checks that Bigtable keeps this table's cells as the protocol needs them, adds missing
   * families, and remembers the table.
   */
  async #use(name: string, table: Table): Promise<KnownTable> {
    const path = this.#path(name);
    const families = table.columnFamilies ?? {};
    this.#check(path, table);
    const missing = parts.filter((part) => families[part] === undefined);
    if (missing.length > 0) await this.#addFamilies(name, path, missing);
    const metadata = this.#metadata("table_name", path);
    const mutating = metadata.clone();
    mutating.setOptions({ waitForReady: true });
    const known = { name, path, metadata, mutating };
    this.#known.set(name, known);
    return known;
  }

  #check(path: string, table: Table): void {
    const granularity = table.granularity ?? 0;
    if (granularity !== millis && granularity !== 0) {
      throw new StoreError(
        `The table ${path} has a timestamp granularity (${granularity}) other than milliseconds. Create it with \`percolator init\`.`,
      );
    }
    for (const part of parts) {
      const rule = table.columnFamilies?.[part]?.gcRule;
      const rules = [rule?.maxNumVersions, rule?.maxAge, rule?.intersection, rule?.union];
      if (rules.every((each) => each === undefined)) continue;
      throw new StoreError(
        `The family "${part}" of ${path} has a garbage collection rule, which would delete what transactions need. Remove ` +
          `it: \`cbt setgcpolicy ${path.slice(path.lastIndexOf("/") + 1)} ${part} never\`.`,
      );
    }
  }

  async #addFamilies(name: string, path: string, missing: readonly Part[]): Promise<void> {
    if (!this.#options.create) {
      throw new StoreError(
        `The table ${path} has no ${missing.map((part) => `"${part}"`).join(", ")} family: this package did not create it. ` +
          "Choose another prefix, or let `percolator init` add the missing families.",
      );
    }
    const modifications = missing.map((part) => ({ id: part, create: {} }));
    try {
      await this.#ask(modifyColumnFamilies, { name: path, modifications }, ["name", path], creatingMs);
    } catch (error) {
      if (codeOf(error) === status.ALREADY_EXISTS) {
        // Another process has added at least one of them meanwhile, and then none of ours was added.
        const now = await this.#get(name);
        const left = parts.filter((part) => now?.columnFamilies?.[part] === undefined);
        if (left.length > 0 && left.length < missing.length) await this.#addFamilies(name, path, left);
        return;
      }
      throw storeError(error, `add families to table ${JSON.stringify(name)} (${path})`);
    }
  }

  /**
   * Retries until there is an answer. Each of these requests can be repeated, because a repeated
   * request finds what the first one created.
   */
  #ask<Request, Response>(
    method: Method<Request, Response>,
    request: Request,
    [parameter, value]: readonly [name: string, value: string],
    lastingMs?: number,
  ): Promise<Response> {
    const { admin, environment, deadlineMs, retryForMs } = this.#options;
    const options = {
      environment,
      deadlineMs: lastingMs ?? deadlineMs,
      retryForMs: lastingMs ?? retryForMs,
      closing: this.#closing.signal,
    };
    return repeated(options, this.#metadata(parameter, value), (call) => admin.unary(method, request, call));
  }

  #path(name: string): string {
    return `${this.#instance}/tables/${tableId(this.#options.location.prefix, name)}`;
  }

  #metadata(parameter: string, value: string): Metadata {
    const metadata = new Metadata();
    const { profile } = this.#options.location;
    const parameters = new URLSearchParams({ [parameter]: value, app_profile_id: profile });
    metadata.set("x-goog-request-params", parameters.toString());
    metadata.set("google-cloud-resource-prefix", this.#instance);
    metadata.set("x-goog-api-client", clientNames());
    metadata.set("bigtable-features", encodeFeatureFlags(features).toString("base64url"));
    return metadata;
  }
}

function mayNotMake(error: unknown, doing: string): StoreError {
  return new StoreError(
    `The account may not ${doing}. Run \`percolator init\` with an account that has roles/bigtable.admin, or grant it that role.`,
    { cause: error },
  );
}
