import { observer, type Snapshot } from "percolatordb";
import { accounts, cash, type Transfer, trail, transfers } from "./tables.js";

/**
 * Writes each transfer into the trail of both its accounts, exactly once. It watches the ledger and
 * not the balances: of several changes of one cell an observer may see the newest only, and in the
 * ledger every transfer is a cell of its own.
 */
export const audit = observer("audit", transfers.transfer, (tx, { row: id, value }) => {
  if (value === undefined) throw new Error(`Transfer ${id} was taken out of the ledger.`);
  for (const [account, amount] of sides(value)) tx.set(trail.amount, [account, id], amount);
});

export interface AuditReport {
  readonly accounts: number;
  readonly transfers: number;
  /** Transfers that the trail does not have yet. */
  readonly waiting: number;
  /** Of all balances: always 0. */
  readonly sum: number;
  /** What does not add up, a sentence each; always empty. */
  readonly problems: readonly string[];
}

/** Adds everything up again, from the first transfer on, as of one moment. */
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

/** Each transfer has both its lines in the trail, or neither yet. Answers how many have. */
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
