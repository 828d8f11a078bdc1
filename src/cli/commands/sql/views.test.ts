import { open, text } from "percolatordb";
import { derive } from "percolatordb/recipes";
import { expect, test } from "vitest";
import { Shop, sums } from "../../../../test/postgres/attach/shop.js";
import { CommandLine } from "../../../../test/support/command-line.js";

test("views of a module's tables leave out attached tables and what derivations keep for themselves", async () => {
  const cli = await CommandLine.create();
  await using shop = await Shop.create();
  const { orders } = shop.declare();
  const spent = derive("spent", {
    from: orders,
    key: [text()],
    groupBy: ({ customer }) => (customer === undefined ? undefined : [customer]),
    sum: ({ total }) => total,
  });
  const shared = globalThis as { app?: unknown };
  shared.app = { tables: [orders, sums], derivations: [spent] };
  await cli.write("app.mjs", "export default globalThis.app;\n");
  await (await open(shop.place.location)).close();
  const schema = `${shop.place.schema}_views`;
  const views = async (...args: readonly string[]) => {
    const { stderr, documents } = await cli.run(["views", shop.place.location, ...args, "--json"]);
    const [made] = documents as { views: { name: string }[] }[];
    return made?.views.map(({ name }) => name) ?? stderr;
  };
  try {
    await cli.run(["attach", shop.place.location, "app.mjs"]);
    expect(await views("app.mjs")).toEqual(["sums", "spent"]);
    expect(await views("app.mjs", "--table", "spent_rows")).toEqual(["spent_rows"]);
    expect(await views("app.mjs", "--table", "orders")).toContain("is attached");
    expect(await views()).toEqual(["spent", "spent_rows", "spent_state", "spent_sums", "sums"]);
  } finally {
    delete shared.app;
    await shop.sql(`drop schema if exists "${schema.replaceAll('"', '""')}" cascade`);
  }
});
