/**
 * One program of a rolling deploy, old or new: `old LOCATION` or `new LOCATION`. It runs its observer, and
 * changes its own people all the time. Prints each acknowledged change, until a line on its input.
 */
import { open } from "percolatordb";
import { people1, people2, splitName } from "./people.js";
import { greetNew, greetOld } from "./rolling-observers.js";

const [version, location, from] = process.argv.slice(2) as [string, string, string];
const isOld = version === "old";
const db = await open(location, { observers: [isOld ? greetOld : greetNew] });
const worker = db.work();
let stops = false;
process.stdin.once("data", () => {
  stops = true;
});
for (let round = Number(from); !stops; round++) {
  const row = `${version}${round % 20}`;
  const name = `First Last${round}`;
  await db.transact((tx) => {
    if (isOld) tx.set(people1.who, row, { name });
    else tx.set(people2.who, row, splitName({ name }));
  });
  process.stdout.write(`${row} ${round}\n`);
}
await worker.stop();
await db.close();
process.stdin.destroy();
