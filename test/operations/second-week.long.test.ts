import { afterAll, beforeAll, expect, test } from "vitest";
import { FolderPlace, type Place, PostgresPlace } from "./place.js";
import { Project } from "./project.js";
import { Shop } from "./shop.js";

/**
 * A new user's second week, with the commands of the pages and the package as npm packs it: workers run as a
 * service under load, the program changes and is deployed beside the old one, old values are rewritten,
 * observers and columns go, and the database is lost and restored.
 */

const status = ["docs/alerts.md", "percolator status LOCATION"] as const;
const doctor = ["docs/upgrading.md", "percolator doctor ./data ./app.ts"] as const;

let project: Project;
beforeAll(async () => {
  project = await Project.create();
}, 600_000);
afterAll(() => project?.[Symbol.asyncDispose]());

async function play(place: Place): Promise<void> {
  const shop = new Shop(project, place);
  try {
    await project.edit("first");
    await place.create();
    const old = await shop.startWorker();
    // Its orders stay as they are, so only a backfill gives them the receipts of the second week.
    await (await shop.startLoad("o")).terminate();
    const oldLoad = await shop.startLoad("a");
    await looksWell(shop, old.addresses);

    // Changes the program, and looks at the difference before the deploy.
    await project.edit("second");
    const { lines } = await shop.run("docs/schema-evolution.md", "percolator schema ./data ./app.ts", 1);
    const differences = lines.filter((line) => line.startsWith("differs: "));
    expect(differences.map((line) => line.replace(/^differs: (.*?\]).*$/, "$1"))).toEqual([
      "orders.sale [migrate]",
      "orders.legacy [drop]",
      "receipts.noteLength [drop]",
      "observer receipt [backfill]",
      "observer note [unregister]",
    ]);

    // Old and new processes share the data.
    const now = await shop.startWorker();
    const load = await shop.startLoad("b");
    await old.process.said((line) => line.includes("no longer runs it"));
    await old.process.said((line) => line.includes("NewerValueError"));
    await shop.shows(...doctor, /^WARNING +observer receipt +run by 2 sessions in a version older than 2$/m);
    await oldLoad.terminate();
    await old.process.terminate();
    await shop.shows(...status, /^receipt +orders\.sale +2 .* 2 processes$/m);
    await replaceTheRest(shop);
    await looksWell(shop, now.addresses);

    // The database is lost under everything that uses it.
    const before = shop.acknowledged();
    await place.backUp();
    await shop.progress(load);
    await place.destroy();
    for (const address of now.addresses) await shop.answers(address, "/readyz", 503, /^store: /);
    for (const each of [load, now.process]) {
      each.signal("SIGTERM");
      await each.ended();
    }
    await place.restore();
    expectAll((await shop.verify()).serials, before);

    // Everything goes on.
    const again = await shop.startWorker();
    const lastLoad = await shop.startLoad("c");
    await looksWell(shop, again.addresses);
    await lastLoad.terminate();
    await shop.run("docs/schema-evolution.md", "percolator wait ./data");
    await isExact(shop, new Map([...before, ...shop.acknowledged("c")]));
    await again.process.terminate();
  } finally {
    await project.end();
  }
}

/** Workers are ready and work, and the commands that look at them find no problem. */
async function looksWell(shop: Shop, addresses: readonly string[]): Promise<void> {
  for (const address of addresses) {
    await shop.answers(address, "/healthz", 200, /^ok\n$/);
    await shop.answers(address, "/readyz", 200, /^ok\n$/);
    await shop.answers(address, "/metrics", 200, /^percolator_runs_total\{.*outcome="committed"\} [1-9]/m);
  }
  await shop.shows(...status, /^receipt +orders\.sale .* 2 processes$/m);
  await shop.shows(...doctor, /^0 problems, 0 warnings$/m);
}

/** What docs/schema-evolution.md says to do when the last old process has ended. */
async function replaceTheRest(shop: Shop): Promise<void> {
  const page = "docs/schema-evolution.md";
  expect((await shop.run(page, "percolator migrate ./data ./app.ts --check", 1)).lines[0]).toMatch(
    /^orders \(sale 2\): [1-9]\d* of \d+ cells are of older versions, 0 failed$/,
  );
  await shop.run(page, "percolator migrate ./data ./app.ts --rate 1000");
  await shop.run(page, "percolator migrate ./data ./app.ts --check");
  await shop.run("docs/upgrading.md", "percolator backfill LOCATION APP OBSERVER", 0, {
    OBSERVER: "receipt",
  });
  const note = { OBSERVER: "note" };
  // Nobody runs the observer. The changes that wait for it are a problem, and `doctor` says what helps.
  await shop.shows(...doctor, /^PROBLEM +observer note .*\n.* percolator unregister LOCATION note\./m);
  await shop.run("docs/upgrading.md", "percolator unregister LOCATION OBSERVER --yes", 0, note);
  for (const column of ["orders.legacy", "receipts.noteLength"])
    await shop.run(page, "percolator drop ./data orders.total --rate 1000", 0, { "orders.total": column });
  const { lines } = await shop.run(page, "percolator schema ./data ./app.ts");
  expect(lines.at(-1)).toBe("the module declares what is recorded");
}

/** Every acknowledged order is there, and all that is derived is what a recomputation makes. */
async function isExact(shop: Shop, acknowledged: ReadonlyMap<string, number>): Promise<void> {
  const { serials, derived, recomputed } = await shop.verify();
  expectAll(serials, acknowledged);
  expect(Object.keys(derived).length).toBeGreaterThan(100);
  expect(derived).toEqual(recomputed);
  await shop.run("docs/backup-and-restore.md", "percolator check ./drill --derived --app ./app.ts", 0, {
    "./drill": shop.place.location,
  });
  await shop.run("docs/upgrading.md", "percolator check ./data");
  expect((await shop.run("docs/alerts.md", "percolator parked ./data")).stdout).toBe("");
  await shop.run("docs/schema-evolution.md", "percolator schema ./data ./app.ts");
  await shop.run("docs/schema-evolution.md", "percolator migrate ./data ./app.ts --check");
}

/** A row may be newer than its last acknowledgment, but not older. */
function expectAll(serials: Readonly<Record<string, number>>, acknowledged: ReadonlyMap<string, number>) {
  expect(acknowledged.size).toBeGreaterThan(40);
  const lost = [...acknowledged].filter(([row, serial]) => !((serials[row] ?? -1) >= serial));
  expect(lost).toEqual([]);
}

test("a folder: a new user's second week loses nothing, and everything derived is exact", async () => {
  await using place = new FolderPlace(project);
  await play(place);
}, 600_000);

test("PostgreSQL: a new user's second week loses nothing, and everything derived is exact", async () => {
  await using place = await PostgresPlace.start(project);
  await play(place);
}, 600_000);
