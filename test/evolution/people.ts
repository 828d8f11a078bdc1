import { compressed, family, json, observer, type StandardSchema, table, text } from "percolatordb";
import { z } from "zod";

export const first = z.object({ name: z.string() });
export const second = z.object({ first: z.string(), last: z.string() });

export function splitName(old: { name: string }) {
  const [given = "", family = ""] = old.name.split(" ");
  return { first: given, last: family };
}

const upgrade = { 1: splitName };
const shape = <I, O extends I>(schema: StandardSchema<I, O>) => schema;

/** The program before the change of shape. */
export const people1 = table("people", {
  who: json(shape(first)),
  friends: family(json(shape(first))),
  photo: compressed(json(shape(first))),
  note: text(),
});

/** The program after it. */
export const people2 = table("people", {
  who: json(shape(second), { version: 2, upgrade }),
  friends: family(json(shape(second), { version: 2, upgrade })),
  photo: compressed(json(shape(second), { version: 2, upgrade })),
  note: text(),
});

export const greetings = table("greetings", { text: text(), runs: text() });

/** Observers of the two programs. A run that counts as failed is parked at once. */
export const greet1 = observer(
  "greet",
  people1.who,
  async (tx, { row, value }) => {
    tx.set(greetings.text, row, `Hello ${value?.name}`);
    tx.set(greetings.runs, row, `${Number((await tx.get(greetings.runs, row)) ?? 0) + 1}`);
  },
  { attempts: 1 },
);
export const greet2 = observer(
  "greet",
  people2.who,
  async (tx, { row, value }) => {
    tx.set(greetings.text, row, `Hello ${value?.first} ${value?.last}`);
    tx.set(greetings.runs, row, `${Number((await tx.get(greetings.runs, row)) ?? 0) + 1}`);
  },
  { attempts: 1 },
);
