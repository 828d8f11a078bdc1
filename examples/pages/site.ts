import type { Database, Transaction } from "percolatordb";
import { data, pages, templates } from "./tables.js";

export const authors = ["ann", "ben", "eve", "joe"];

/**
 * Creates a site with this many posts by four authors, and an imprint that shares only the footer
 * with them.
 */
export async function makeSite(db: Database, posts: number): Promise<void> {
  await db.transact((tx) => {
    const set = (name: string, text: string) => tx.set(templates.text, name, text);
    set("header", "<header>{{data site title}}{{> banner}}</header>");
    set("footer", "<footer>{{data site title}}, {{data year}}</footer>");
    set("layout-begin", "<!doctype html><title>{{title}}</title>{{> header}}");
    for (const author of authors) {
      set(`post by ${author}`, `{{> layout-begin}}<h1>{{title}}</h1>{{> ${author}}}{{body}}{{> footer}}`);
      set(author, `<address>{{data author ${author}}}</address>`);
      tx.set(data.value, `author ${author}`, author);
    }
    set("imprint", "<title>{{title}}</title>{{> footer}}");
    set("banner", "");
    tx.set(data.value, "site title", "Notes");
    tx.set(data.value, "year", "2010");
    tx.set(pages.source, "/imprint", { template: "imprint", values: { title: "Imprint" } });
    for (let number = 0; number < posts; number++) setPost(tx, number, "As it was written first.");
  });
}

export function setPost(tx: Transaction, number: number, body: string): void {
  const author = authors[number % authors.length]!;
  const source = { template: `post by ${author}`, values: { title: `Post ${number}`, body } };
  tx.set(pages.source, `/posts/${number}`, source);
}
