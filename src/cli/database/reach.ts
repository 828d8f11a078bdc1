import { coordinatorChoice, isPostgres, openStore, tokensOf } from "../../database/index.js";
import type { Environment } from "../../environment/index.js";
import {
  CoordinatorError,
  OracleUnavailableError,
  type PercolatorError,
  StoreError,
  withoutPassword,
} from "../../errors/index.js";
import { readLease, within } from "../../oracle/index.js";
import type { RowStore } from "../../store/index.js";
import type { Cli } from "../cli.js";
import { type CoordinatorFlags, coordinatorOf } from "../input/coordinator-flags.js";
import { placeOf } from "./open-database.js";

/**
 * Time for the store to answer, in milliseconds. Together with the coordinator's 1,000 ms, the
 * command waits at most 2,200 ms. That is less than 3 s, the longest that an operator should wait.
 */
const storeMs = 1_200;
const coordinatorMs = 1_000;

/**
 * Checks that a store on PostgreSQL or Bigtable answers, and so does its coordinator. Commands that
 * diagnose a database call this first, because `open` would wait much longer for a service that is
 * down. For a folder it does nothing.
 *
 * @throws StoreError if the store does not answer in time.
 * @throws OracleUnavailableError or CoordinatorError if the coordinator does not answer in time, or
 * refuses this process.
 */
async function checkReach(cli: Cli, location: string, flags: CoordinatorFlags): Promise<void> {
  const place = placeOf(location, cli.io.cwd);
  if (!place.startsWith("bigtable:") && !isPostgres(place)) return;
  const { environment } = cli;
  const shown = withoutPassword(place);
  const choice = coordinatorChoice(await coordinatorOf(cli, location, flags));
  const store = await openInTime(place, environment);
  try {
    const lease = await inTime(environment, storeMs, shown, () =>
      readLease({ store, environment, timeoutMs: 2 * storeMs }),
    );
    if (choice?.start || (store.atomic !== undefined && choice === undefined)) return;
    if (choice?.addresses === undefined && (lease === undefined || lease.holder === "")) {
      throw new OracleUnavailableError(
        `The store ${shown} answers, but no coordinator leads. Run this on two machines: percolator coordinator LOCATION.`,
      );
    }
    const { connectCoordinator } = await import("../../coordinator/index.js");
    const { addresses, tls } = choice ?? {};
    await using client = connectCoordinator({
      store,
      addresses,
      environment,
      token: tokensOf(choice ?? {})[0],
      tls,
      attemptMs: coordinatorMs,
    });
    const doing = `The store ${shown} answers, but its coordinator at ${addresses?.join(", ") ?? lease?.name} does not: the request`;
    await within({ environment, timeoutMs: coordinatorMs, doing }, (signal) => client.check(signal));
  } finally {
    store.close().catch(() => undefined);
  }
}

/**
 * Checks it as {@link checkReach} does, but returns the error if only the coordinator does not
 * answer, or refuses this process.
 */
export async function findAbsence(
  cli: Cli,
  location: string,
  flags: CoordinatorFlags,
): Promise<PercolatorError | undefined> {
  try {
    await checkReach(cli, location, flags);
    return undefined;
  } catch (error) {
    if (error instanceof OracleUnavailableError || error instanceof CoordinatorError) return error;
    throw error;
  }
}

async function openInTime(place: string, environment: Environment): Promise<RowStore> {
  let isLate = false;
  const opening = openStore(place, { create: false }, environment).then(async (store) => {
    if (isLate) await store.close();
    return store;
  });
  try {
    return await inTime(environment, storeMs, withoutPassword(place), () => opening);
  } catch (error) {
    isLate = true;
    opening.catch(() => undefined);
    throw error;
  }
}

async function inTime<T>(
  environment: Environment,
  timeoutMs: number,
  place: string,
  ask: () => Promise<T>,
): Promise<T> {
  try {
    return await within({ environment, timeoutMs, doing: `The store ${place}` }, ask);
  } catch (cause) {
    if (!(cause instanceof OracleUnavailableError)) throw cause;
    throw new StoreError(
      `The store ${place} did not answer within ${timeoutMs} ms. Check whether it runs, and whether this machine can reach it.`,
      { cause },
    );
  }
}
