import { setImmediate as turn } from "node:timers/promises";
import type { Pool } from "pg";
import { describe, expect, it } from "vitest";
import { packContents, unpackContents } from "../../examples/webindex/contents.js";
import { sourceOf } from "../webindex/sources.js";
import { page, revisit, urlOf } from "../webindex/testing.js";
import { loadPages } from "./load.js";

interface Statement {
  readonly name: string;
  readonly values: readonly [urls: readonly string[], contents?: readonly (Buffer | null)[]];
}

/** A fake server: contents by URL, read and written by the statements of a load. */
class Contents {
  readonly #stored = new Map<string, Buffer | null>();
  /** The number of transactions that began. */
  begun = 0;
  /** Awaited before a transaction begins, with its number. */
  before = async (_number: number): Promise<void> => undefined;
  /** Called when a transaction has ended. */
  ended = (_number: number): void => undefined;

  get pool(): Pool {
    const connect = async () => {
      const number = ++this.begun;
      await this.before(number);
      return {
        query: async (statement: string | Statement) => ({
          rows: typeof statement === "string" ? [] : this.#perform(statement),
        }),
        release: () => this.ended(number),
      };
    };
    return { connect } as unknown as Pool;
  }

  #perform({ name, values: [urls, contents = []] }: Statement): unknown[] {
    if (name === "stored") {
      return urls.flatMap((url) => (this.#stored.has(url) ? [{ url, contents: this.#stored.get(url) }] : []));
    }
    if (name === "add" || name === "change") {
      for (const [index, url] of urls.entries()) this.#stored.set(url, contents[index] ?? null);
    }
    return [];
  }

  put(name: string, text: string): void {
    const { contentType, body } = page(name, text);
    this.#stored.set(urlOf(name), Buffer.from(packContents({ contentType, body })));
  }

  text(name: string): string | undefined {
    const packed = this.#stored.get(urlOf(name));
    return packed ? Buffer.from(unpackContents(packed).body).toString() : undefined;
  }
}

describe("loadPages", () => {
  it("if a page comes twice in different batches, the newer one stays", async () => {
    const contents = new Contents();
    const secondEnded = new Promise<void>((resolve) => {
      contents.ended = (number) => {
        if (number === 2) resolve();
      };
    });
    contents.before = async (number) => {
      if (number !== 1) return;
      // The load must not begin a second transaction before this one commits. If it does, this one
      // commits last, and the old page replaces the new one.
      await turn();
      if (contents.begun > 1) await secondEnded;
    };
    const others = Array.from({ length: 31 }, (_, index) => page(`other ${index}`, "x"));
    await loadPages(contents.pool, sourceOf("crawl", [page("a", "old"), ...others, page("a", "new")]));
    expect(contents.begun).toBe(2);
    expect(contents.text("a")).toBe("new");
  });

  it("if a page comes twice in one batch, the newer one stays", async () => {
    const contents = new Contents();
    const loaded = await loadPages(contents.pool, sourceOf("crawl", [page("a", "old"), page("a", "new")]));
    expect(loaded).toEqual({ pages: 2, added: 1, changed: 1, deleted: 0 });
    expect(contents.begun).toBe(1);
    expect(contents.text("a")).toBe("new");
  });

  it("a revisit waits only for the page that it refers to", async () => {
    const contents = new Contents();
    contents.put("stored", "of old");
    contents.put("kept", "as it was");
    const items = [page("a", "of now"), revisit("b", "stored"), revisit("c", "a"), revisit("kept", "absent")];
    const loaded = await loadPages(contents.pool, sourceOf("crawl", items));
    expect(contents.begun).toBe(1);
    expect(loaded).toEqual({ pages: 4, added: 3, changed: 0, deleted: 0 });
    expect(["a", "b", "c", "kept"].map((name) => contents.text(name))).toEqual([
      "of now",
      "of old",
      "of now",
      "as it was",
    ]);
  });

  it("throws a transaction's error even if nothing awaited it", async () => {
    const contents = new Contents();
    contents.before = () => Promise.reject(new Error("no server"));
    const many = Array.from({ length: 70 }, (_, index) => page(`${index}`, "x"));
    await expect(loadPages(contents.pool, sourceOf("crawl", many))).rejects.toThrow("no server");
  });
});
