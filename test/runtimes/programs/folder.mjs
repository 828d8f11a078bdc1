import { open } from "percolatordb";
import { documents, measure, same, use } from "./app.mjs";

const folder = process.env.FOLDER;
const db = await open(folder, { observers: [measure] });
await use(db, 1_000);
const live = db.live((snapshot) => snapshot.get(documents.length, "row 0003"));
const values = live[Symbol.asyncIterator]();
same((await values.next()).value.value, 3);
const working = db.work();
await db.transact((tx) => tx.set(documents.body, "row 0003", "longer"));
same((await values.next()).value.value, 6);
await values.return();
await working.stop();
await db.close();

const again = await open(folder, { readOnly: true });
const snapshot = await again.snapshot();
same(await snapshot.get(documents.length, "row 0003"), 6);
snapshot.close();
await again.close();
