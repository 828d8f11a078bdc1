import { open } from "percolatordb";
import { describe, expect, test } from "vitest";
import { ProgramProcess } from "../../test/support/program-process.js";
import { pause } from "../../test/support/waiting.js";
import { shopApp } from "./observers.js";
import { connect, tellPurchasing } from "./sql.js";
import { customerTotals } from "./tables.js";
import { newShopPlace } from "./testing/place.js";

const main = "examples/shop/main.ts";
const minutes = 60_000;

/** Resolves when the process has ended. A busy machine may need some minutes. */
async function untilEnded(process: ProgramProcess): Promise<void> {
  while (!process.hasEnded) await pause(100);
}

async function untilSaid(process: ProgramProcess, line: RegExp): Promise<RegExpExecArray> {
  for (;;) {
    const found = process.lines.map((each) => line.exec(each)).find((each) => each !== null);
    if (found !== undefined) return found;
    if (process.hasEnded) throw new Error(`It ended with ${process.end}: ${process.errors}`);
    await pause(50);
  }
}

describe("npm run shop", () => {
  test(
    "follows a storm while a worker is killed, verifies, and finds a wrong cell in the next run",
    async () => {
      await using place = await newShopPlace();
      const data = ["--data", place.location, "--orders", "300"];
      const shop = new ProgramProcess(main, [...data, "--storm", "20", "--verify"]);
      try {
        const [, pid] = await untilSaid(shop, /^Worker (\d+) follows\.$/);
        await untilSaid(shop, /^Every row is copied/);
        // The storm has begun.
        await pause(5_000);
        process.kill(Number(pid), "SIGKILL");
        await untilEnded(shop);
        expect([shop.errors, shop.end]).toEqual(["", "0"]);
        expect(shop.lines).toContain(`Worker ${pid} ended (SIGKILL). Another one takes its place.`);
        expect(shop.lines.filter((line) => line.endsWith(" rows, equal"))).toHaveLength(11);
        expect(shop.lines.filter((line) => / {2,}0$/.test(line))).toEqual([]);
      } finally {
        await shop.kill();
      }

      const pool = connect(place.location, 1);
      let customer: number;
      try {
        // A customer who still has an order after the storm.
        const { rows } = await pool.query("select customer_id from shop.orders order by id limit 1");
        customer = rows[0].customer_id;
        await using db = await open(place.location, shopApp(tellPurchasing(pool)));
        await db.transact((tx) => tx.set(customerTotals.cents, [customer], -1));
      } finally {
        await pool.end();
      }
      const again = new ProgramProcess(main, [...data, "--verify"]);
      try {
        await untilEnded(again);
        expect(again.end).toBe("1");
        const line = `^customer_totals: \\[${customer}\\] is \\[\\d+,-1\\], but by SQL \\[\\d+,\\d+\\]\\.\n$`;
        expect(again.errors).toMatch(new RegExp(line));
      } finally {
        await again.kill();
      }
    },
    10 * minutes,
  );

  test(
    "percolator worker does the work of examples/shop/app.ts",
    async () => {
      await using place = await newShopPlace();
      const data = ["--data", place.location, "--orders", "20"];
      const made = new ProgramProcess(main, data);
      await untilEnded(made);
      expect([made.errors, made.end]).toEqual(["", "0"]);
      const worker = new ProgramProcess(
        "src/cli/main.ts",
        ["worker", place.location, "examples/shop/app.ts"],
        {
          env: { SHOP_LOCATION: place.location },
        },
      );
      const pool = connect(place.location, 1);
      try {
        await pool.query("insert into shop.products values (5000, 'Novelty', 100, 1, 90)");
        for (;;) {
          const { rows } = await pool.query("select is_low from shop.stock_alerts where product_id = 5000");
          if (rows.length > 0) break;
          if (worker.hasEnded) throw new Error(worker.errors);
          await pause(100);
        }
        await worker.terminate();
      } finally {
        await worker.kill();
        await pool.end();
      }
    },
    10 * minutes,
  );

  test("a mistake on the command line ends with 2", async () => {
    const wrong = new ProgramProcess(main, ["--data", "./folder"]);
    await untilEnded(wrong);
    expect(wrong.end).toBe("2");
    expect(wrong.errors).toMatch(
      /'--data <location>' argument '\.\/folder' is invalid\. It must be a location on PostgreSQL/,
    );
  });
});
