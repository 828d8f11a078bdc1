import { table, text } from "percolatordb";
import { uniqueConstraint } from "percolatordb/recipes";

export const users = table("users", { email: text() });
export const emails = (by: (email: string) => string) => uniqueConstraint("emails", users.email, { by });
