import fc from "fast-check";
import { type Database, observer, open, type Transaction } from "percolatordb";
import { StepHooks } from "percolatordb/testing";
import { describe, expect, test } from "vitest";
import { type Variant, variants, withDatabase } from "../../test/support/databases.js";
import { differences, renderAll } from "./batch.js";
import { observers, rendering, renderPage } from "./observers.js";
import { render } from "./render.js";
import { makeSite, setPost } from "./site.js";
import { data, dependents, pages, type Source, tables, templates } from "./tables.js";

const options = { tables, observers, durability: "none", collectEveryMs: 0 } as const;

const different = async (db: Database) => {
  await using view = await db.snapshot();
  return await differences(view);
};

/**
 * Returns how many pages were rendered for an edit. Fails unless the result then equals a rendering
 * from scratch.
 */
async function rendersFor(db: Database, edit: (tx: Transaction) => void): Promise<number> {
  // A signal is handled at least once, so a page is counted once however often it was rendered.
  const rendered = new Set<string>();
  const stop = db.on("run", ({ observer, outcome, cause }) => {
    if (observer === rendering.name && outcome === "committed") rendered.add(String(cause.cell.row));
  });
  await db.transact(edit);
  await db.drain();
  stop();
  expect(await different(db)).toEqual([]);
  return rendered.size;
}

describe("rendering", () => {
  const resources = (texts: Record<string, string>, values: Record<string, string> = {}) => ({
    template: async (name: string) => texts[name],
    data: async (name: string) => values[name],
  });

  test("inserts values, shared data and other templates, and returns what it used", async () => {
    const texts = { page: "<b>{{ title }}</b>{{> part}}{{> part}}", part: "<i>{{data name}}, {{title}}</i>" };
    const title = "&lt;&quot;A&quot; &amp; &#39;B&#39;&gt;";
    expect(
      await render({ template: "page", values: { title: `<"A" & 'B'>` } }, resources(texts, { name: "x" })),
    ).toEqual({
      html: `<b>${title}</b>${`<i>x, ${title}</i>`.repeat(2)}`,
      uses: ["data/name", "template/page", "template/part"],
    });
  });

  test("marks missing resources, and counts them as used", async () => {
    const texts = { page: "{{a}}{{data b}}{{> c}}{{> page}}{{toString}}{{d\ne}}" };
    expect(await render({ template: "page", values: {} }, resources(texts))).toEqual({
      html: "[no value a][no data b][no template c][template page includes itself][no value toString][no value d\ne]",
      uses: ["data/b", "template/c", "template/page"],
    });
    expect((await render({ template: "none", values: {} }, resources({}))).uses).toEqual(["template/none"]);
  });

  test("ends, however templates include each other", async () => {
    const names = Array.from({ length: 30 }, (_, index) => `t${index}`);
    const texts = Object.fromEntries(names.map((name, index) => [name, `{{> t${index + 1}}}`.repeat(2)]));
    const { html } = await render({ template: "t0", values: {} }, resources(texts));
    expect(html).toContain("[too many templates]");
    expect(html.length).toBeLessThan(50_000);
  });
});

describe.each(variants)("on $store, $commit", (variant) => {
  test("each edit renders exactly the pages that depend on it again", async () => {
    await withDatabase(variant, options, async (db) => {
      await makeSite(db, 8);
      await db.drain();
      expect(await different(db)).toEqual([]);
      const edits: [number, (tx: Transaction) => void][] = [
        [1, (tx) => setPost(tx, 3, "new")],
        [2, (tx) => tx.set(data.value, "author ann", "Ann Miller")],
        [8, (tx) => tx.set(templates.text, "banner", "{{data news}}")],
        [8, (tx) => tx.set(data.value, "news", "a map")],
        [9, (tx) => tx.set(templates.text, "footer", "{{data year}}")],
        [8, (tx) => tx.set(data.value, "site title", "Notebook")],
        [0, (tx) => tx.set(data.value, "motto", "none")],
        [8, (tx) => tx.delete(templates.text, "header")],
        [0, (tx) => tx.set(data.value, "site title", "of a header that is gone")],
        [8, (tx) => tx.set(templates.text, "header", "back")],
        [1, (tx) => tx.delete(pages.source, "/posts/3")],
        [7, (tx) => tx.set(templates.text, "layout-begin", "")],
      ];
      for (const [index, [expected, edit]] of edits.entries()) {
        expect([index, await rendersFor(db, edit)]).toEqual([index, expected]);
      }
      await using view = await db.snapshot();
      expect(await view.row(pages, "/posts/3")).toBeUndefined();
      const rendered = await rendersFor(db, (tx) => {
        tx.set(data.value, "year", "2011");
        tx.set(data.value, "place", "Vancouver");
        tx.set(templates.text, "footer", "{{data year}}, {{data place}}");
      });
      expect(rendered).toBe(8);
    });
  });

  test("a change of a template during a rendering with it is not missed", async () => {
    expect(await differencesAfterRace(variant, "serializable")).toEqual([]);
  });

  test("but would be missed under snapshot isolation", async () => {
    expect(await differencesAfterRace(variant, "snapshot")).toEqual(["/a is old, and from scratch new."]);
  });

  test("any edits, many concurrently, lead to the same pages as a rendering from scratch", async () => {
    const few = { numRuns: variant.store === "memory" ? 6 : 3 };
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(anyEdit, { maxLength: 5 }), { maxLength: 8 }), async (batches) => {
        await withDatabase(variant, options, async (db) => {
          await using worker = db.work();
          for (const edits of batches) {
            // The edits of a batch run concurrently, and observers run meanwhile.
            await Promise.all(edits.map((edit) => db.transact(edit.apply)));
          }
          await worker.idle();
          expect(await different(db)).toEqual([]);
        });
      }),
      few,
    );
  });

  test("any edit renders exactly the pages that used the edited resource", async () => {
    const few = { numRuns: variant.store === "memory" ? 6 : 3 };
    await fc.assert(
      fc.asyncProperty(fc.array(anyEdit, { maxLength: 12 }), async (edits) => {
        await withDatabase(variant, options, async (db) => {
          for (const edit of edits) {
            const expected = await usersOf(db, edit.edited);
            expect([edit.edited, await rendersFor(db, edit.apply)]).toEqual([edit.edited, expected]);
          }
        });
      }),
      few,
    );
  });
});

/**
 * Returns the differences after a race: a template changes while a page is rendered with it. The
 * rendering commits only after the run for the template has read the template's dependents.
 */
async function differencesAfterRace(
  variant: Variant,
  isolation: "snapshot" | "serializable",
): Promise<readonly string[]> {
  const hooks = new StepHooks();
  const others = observers.filter((each) => each !== rendering);
  const slow = observer("render", pages.stale, (tx, { row: url }) => renderPage(tx, url), { isolation });
  let found: readonly string[] = [];
  await withDatabase(variant, { ...options, hooks, observers: [...others, slow] }, async (db) => {
    await db.transact((tx) => tx.set(templates.text, "t", "old"));
    await db.drain();
    const step = variant.commit === "auto" ? "one-phase-commit" : "prewrite";
    const pause = hooks.pauseBefore(step, ({ label }) => label === "render");
    await using worker = db.work();
    await db.transact((tx) => tx.set(pages.source, "/a", { template: "t", values: {} }));
    await pause.reached;
    const looked = new Promise<void>((resolve) => {
      db.on("run", ({ observer, outcome }) => {
        if (observer === "template" && outcome === "committed") resolve();
      });
    });
    await db.transact((tx) => tx.set(templates.text, "t", "new"));
    await looked;
    pause.resume();
    await worker.idle();
    found = await different(db);
  });
  return found;
}

interface Edit {
  /** The edited thing: a page, or a resource by its name. */
  readonly edited: { readonly page: string } | { readonly resource: string };
  readonly apply: (tx: Transaction) => void;
}

const names = fc.constantFrom("a", "b", "c");
const anyText = fc
  .array(
    fc.oneof(
      names,
      names.map((name) => `{{> ${name}}}`),
      names.map((name) => `{{data ${name}}}`),
    ),
    {
      maxLength: 3,
    },
  )
  .map((parts) => parts.join(" "));

const anyEdit: fc.Arbitrary<Edit> = fc.oneof(
  fc.tuple(names, fc.option(anyText, { nil: undefined })).map(
    ([name, text]): Edit => ({
      edited: { resource: `template/${name}` },
      apply: (tx) =>
        text === undefined ? tx.delete(templates.text, name) : tx.set(templates.text, name, text),
    }),
  ),
  fc.tuple(names, fc.option(anyText, { nil: undefined })).map(
    ([name, value]): Edit => ({
      edited: { resource: `data/${name}` },
      apply: (tx) => (value === undefined ? tx.delete(data.value, name) : tx.set(data.value, name, value)),
    }),
  ),
  fc.tuple(names, fc.option(names, { nil: undefined })).map(([url, template]): Edit => {
    const source: Source | undefined = template === undefined ? undefined : { template, values: {} };
    return {
      edited: { page: url },
      apply: (tx) =>
        source === undefined ? tx.delete(pages.source, url) : tx.set(pages.source, url, source),
    };
  }),
);

async function usersOf(db: Database, edited: Edit["edited"]): Promise<number> {
  if ("page" in edited) return 1;
  await using view = await db.snapshot();
  const rendered = [...(await renderAll(view)).values()];
  return rendered.filter(({ uses }) => uses.includes(edited.resource)).length;
}

test("the comparison finds a stale page, and missing or superfluous dependents", async () => {
  await using db = await open("memory:", options);
  await makeSite(db, 1);
  await db.drain();
  await db.transact((tx) => tx.set(pages.html, "/imprint", "stale"));
  expect(await different(db)).toHaveLength(1);
  await db.transact((tx) => tx.delete(dependents.pages.at("/imprint"), "template/footer"));
  await db.transact((tx) => tx.set(dependents.pages.at("/imprint"), "template/none", ""));
  expect(await different(db)).toHaveLength(3);
});
