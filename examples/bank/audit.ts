import { observer, type Snapshot } from "percolatordb";
import { accounts, cash, type Transfer, trail, transfers } from "./tables.js";

/**
 * Writes each transfer into the trail of both its accounts, exactly once. It observes the ledger,
 * not the balances. An observer may see only the newest of several changes of one cell, but in the
 * ledger every transfer is a separate cell.
 */
export const audit = observer("audit", transfers.transfer, (tx, { row: id, value }) => {
  if (value === undefined) throw new Error(`Transfer ${id} was taken out of the ledger.`);
  for (const [account, amount] of sides(value)) tx.set(trail.amount, [account, id], amount);
});

export interface AuditReport {
  readonly accounts: number;
  readonly transfers: number;
  /** Transfers that are not in the trail yet. */
  readonly waiting: number;
  /** The sum of all balances. Always 0. */
  readonly sum: number;
  /** The errors found, one sentence each. Always empty. */
  readonly problems: readonly string[];
}

/** Recomputes all sums from the first transfer on, in one snapshot. */
export async function auditBank(view: Snapshot): Promise<AuditReport> {
  const problems: string[] = [];
  const ledger = new Map<string, Transfer>();
  const expected = new Map<string, number>();
  for await (const { row: id, value } of view.scan(transfers.transfer)) {
    ledger.set(id, value);
    for (const [account, amount] of sides(value)) {
      expected.set(account, (expected.get(account) ?? 0) + amount);
    }
  }
  const balances = new Map<string, number>();
  for await (const { row, value } of view.scan(accounts.balance)) balances.set(row, value);
  for (const account of new Set([...balances.keys(), ...expected.keys()])) {
    const [has, should] = [balances.get(account) ?? 0, expected.get(account) ?? 0];
    if (has !== should) problems.push(`${account} holds ${has}, and its transfers come to ${should}.`);
  }
  const partners = new Map<string, string>();
  for await (const { row, value } of view.scan(accounts.partner)) partners.set(row, value);
  for (const [account, balance] of balances) {
    const held = balance + (balances.get(partners.get(account) ?? "") ?? 0);
    if (held < 0 && account !== cash) problems.push(`${account} is overdrawn: $${held} with its household.`);
  }
  const sum = [...balances.values()].reduce((total, balance) => total + balance, 0);
  if (sum !== 0) problems.push(`All balances together are ${sum}.`);
  const audited = await checkTrail(view, ledger, problems);
  return {
    accounts: balances.size,
    transfers: ledger.size,
    waiting: ledger.size - audited,
    sum,
    problems,
  };
}

/**
 * Checks that each transfer has either both of its lines in the trail or none of them yet. Returns
 * how many transfers have both lines.
 */
async function checkTrail(
  view: Snapshot,
  ledger: ReadonlyMap<string, Transfer>,
  problems: string[],
): Promise<number> {
  const lines = new Map<string, number>();
  for await (const { row, value } of view.scan(trail.amount)) lines.set(JSON.stringify(row), value);
  let audited = 0;
  for (const [id, transfer] of ledger) {
    const right = sides(transfer).filter(([account, amount]) => {
      const key = JSON.stringify([account, id]);
      const isRight = lines.get(key) === amount;
      if (isRight) lines.delete(key);
      return isRight;
    });
    if (right.length === 2) audited++;
    else if (right.length > 0) problems.push(`Transfer ${id} is in the trail of ${right[0]![0]} only.`);
  }
  for (const key of lines.keys()) problems.push(`The trail has ${key}, and the ledger does not.`);
  return audited;
}

function sides({ from, to, amount }: Transfer): readonly (readonly [account: string, amount: number])[] {
  return [
    [from, -amount],
    [to, amount],
  ];
}
