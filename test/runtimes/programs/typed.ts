import { type Database, open, table, text } from "percolatordb";

const notes = table("notes", { text: text() });
const db: Database = await open("memory:", { tables: [notes] });
await db.transact((tx) => tx.set(notes.text, "a", "b"));
const found: string | undefined = await db.transact((tx) => tx.get(notes.text, "a"));
await db.close();
if (found !== "b") throw new Error(`found ${found}`);
