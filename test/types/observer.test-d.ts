import {
  batchObserver,
  type Column,
  family,
  int,
  json,
  type Observer,
  observer,
  rowObservers,
  signal,
  type Transaction,
  table,
  text,
  tuple,
} from "percolatordb";
import { expectTypeOf, test } from "vitest";

const documents = table("documents", {
  contents: text(),
  links: json<string[]>(),
  anchors: family(int()),
  rescore: signal(),
});
const points = table("points", { value: int() }, { key: tuple(text(), int()) });

test("a run knows the types of its change", () => {
  observer("column", documents.links, (tx, change) => {
    expectTypeOf(tx).toEqualTypeOf<Transaction>();
    expectTypeOf(change.row).toEqualTypeOf<string>();
    expectTypeOf(change.value).toEqualTypeOf<string[] | undefined>();
    expectTypeOf(change.previous).toEqualTypeOf<string[] | undefined>();
    expectTypeOf(change.qualifier).toEqualTypeOf<undefined>();
    expectTypeOf(change.signal).toEqualTypeOf<AbortSignal>();
    tx.set(change.column, change.row, ["a"]);
  });
  observer("family", documents.anchors, (tx, { row, value, qualifier, column }) => {
    expectTypeOf(value).toEqualTypeOf<number | undefined>();
    expectTypeOf(qualifier).toEqualTypeOf<string>();
    tx.set(column, row, 1);
  });
  observer("signal", documents.rescore, (tx, { row, value, previous, column }) => {
    expectTypeOf(row).toEqualTypeOf<string>();
    expectTypeOf(value).toEqualTypeOf<undefined>();
    expectTypeOf(previous).toEqualTypeOf<undefined>();
    tx.notify(column, row);
  });
  observer("tuple", points.value, (_tx, { row }) => {
    expectTypeOf(row).toEqualTypeOf<readonly [string, number]>();
  });
});

test("impossible declarations do not compile", () => {
  observer("signal", documents.rescore, (tx, { row, column }) => {
    // @ts-expect-error a signal is never written
    tx.set(column, row, 1);
  });
  // @ts-expect-error a table is not a column
  observer("table", documents, () => {});
  // @ts-expect-error an unknown option
  observer("option", documents.contents, () => {}, { attempt: 3 });
  // @ts-expect-error an isolation that does not exist
  observer("isolation", documents.contents, () => {}, { isolation: "none" });
});

test("the last overload is that of columns, since TypeScript explains only the last one that does not fit", () => {
  expectTypeOf<Parameters<typeof observer>[1]>().toEqualTypeOf<Column<unknown, unknown>>();
});

test("a run of row observers knows the type of the key", () => {
  rowObservers("row", [documents.contents, documents.links, documents.anchors], (tx, change) => {
    expectTypeOf(tx).toEqualTypeOf<Transaction>();
    expectTypeOf(change.row).toEqualTypeOf<string>();
    expectTypeOf(change.signal).toEqualTypeOf<AbortSignal>();
    // @ts-expect-error it reads the values itself
    change.value;
  });
  rowObservers("tuple", [points.value], (_tx, { row }) => {
    expectTypeOf(row).toEqualTypeOf<readonly [string, number]>();
  });
  // @ts-expect-error a signal has no value
  rowObservers("signal", [documents.rescore], () => {});
  // @ts-expect-error keys of two types
  rowObservers("two", [points.value, documents.links], () => {});
  expectTypeOf(rowObservers("all", [points.value], () => {})).toExtend<readonly Observer[]>();
});

test("a run of a batch observer gets changes as an observer of the same target gets one", () => {
  batchObserver("column", documents.contents, (tx, changes) => {
    expectTypeOf(tx).toEqualTypeOf<Transaction>();
    expectTypeOf(changes[0]!.value).toEqualTypeOf<string | undefined>();
    expectTypeOf(changes[0]!.row).toEqualTypeOf<string>();
  });
  batchObserver("tuple", points.value, (_tx, [first]) => {
    expectTypeOf(first!.row).toEqualTypeOf<readonly [string, number]>();
  });
  batchObserver("family", documents.anchors, (_tx, changes) => {
    for (const { qualifier } of changes) expectTypeOf(qualifier).toEqualTypeOf<string>();
  });
  batchObserver("signal", documents.rescore, (_tx, changes) => {
    for (const { value } of changes) expectTypeOf(value).toEqualTypeOf<undefined>();
  });
  batchObserver("options", documents.contents, () => {}, { batch: 10, concurrency: 1, attempts: 3 });
  // @ts-expect-error `batch` is an option of batch observers only
  observer("batch", documents.contents, () => {}, { batch: 10 });
});
