import { observer } from "percolatordb";
import { greetings, people1, people2 } from "./people.js";

/** The observer of the two programs, with the usual attempts: a run whose process is killed counts as one. */
export const greetOld = observer("greet", people1.who, (tx, { row, value }) =>
  tx.set(greetings.text, row, `Hello ${value?.name}`),
);
export const greetNew = observer("greet", people2.who, (tx, { row, value }) =>
  tx.set(greetings.text, row, `Hello ${value?.first} ${value?.last}`),
);
