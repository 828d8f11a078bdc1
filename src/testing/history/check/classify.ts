import type { RecordedValue } from "../history.js";
import type { Anomalies } from "./anomaly.js";
import type { WrongRead } from "./check-reads.js";
import type { Cell, CheckedTransaction, Observation, Version } from "./checked-history.js";

/** How many older versions of a cell to search for a writer that the reader saw in another cell. */
const maxPassed = 100;

/** Classifies each wrong read by what the reader saw in place of the expected version. */
export function classifyWrongReads(wrong: readonly WrongRead[], anomalies: Anomalies): void {
  const observed = new Map<CheckedTransaction, ReaderView>();
  for (const read of wrong) {
    let view = observed.get(read.reader);
    if (view === undefined) {
      view = new ReaderView(read.reader);
      observed.set(read.reader, view);
    }
    new Classification(read, view, anomalies).name();
  }
}

/** Everything that a reader saw, by cell, except its own writes. */
class ReaderView {
  readonly #cells = new Map<Cell, Observation[]>();

  constructor(reader: CheckedTransaction) {
    reader.observe((observation) => {
      if (reader.hadWritten(observation)) return;
      const known = this.#cells.get(observation.cell);
      if (known === undefined) this.#cells.set(observation.cell, [observation]);
      else known.push(observation);
    });
  }

  of(cell: Cell): readonly Observation[] {
    return this.#cells.get(cell) ?? [];
  }
}

class Classification {
  readonly #read: WrongRead;
  readonly #view: ReaderView;
  readonly #anomalies: Anomalies;

  constructor(read: WrongRead, view: ReaderView, anomalies: Anomalies) {
    this.#read = read;
    this.#view = view;
    this.#anomalies = anomalies;
  }

  name(): void {
    const { reader, observation, own } = this.#read;
    const { cell, value } = observation;
    if (own) {
      const mine = show(reader.finalValue(cell));
      this.#add("internal", [], `although it had written the cell itself (last ${mine})`);
      return;
    }
    const at = cell.indexShown(reader.start, value);
    if (at === undefined) this.#nameUncommitted();
    else if (this.#nameRepeated()) return;
    else if (at > cell.indexAt(reader.start)) this.#nameFuture(cell.versions[at]!);
    else this.#nameStale(at);
  }

  /** Reports a value that belongs to no committed version. */
  #nameUncommitted(): void {
    const { reader, observation } = this.#read;
    const { cell, value } = observation;
    const others = cell.writers.filter((writer) => writer !== reader);
    const wrote = (writer: CheckedTransaction) =>
      writer.writes.get(cell)!.some((write) => write.value === value);
    const aborted = others.find((writer) => !writer.committed && wrote(writer));
    const overwritten = others.find((writer) => writer.committed && wrote(writer));
    if (overwritten !== undefined) {
      this.#add("G1b", [overwritten], `which ${overwritten} overwrote itself before it committed`);
    } else if (aborted !== undefined) {
      this.#add("G1a", [aborted], `of ${aborted}, which did not commit`);
    } else this.#add("garbage", [], "which no recorded transaction wrote");
  }

  /** Reports a transaction that read the same cell twice with different results. */
  #nameRepeated(): boolean {
    const { observation } = this.#read;
    const other = this.#view.of(observation.cell).find((each) => each.value !== observation.value);
    if (other === undefined) return false;
    const when = other.invoked < observation.invoked ? "before" : "afterwards";
    this.#add("internal", [], `and ${show(other.value)} ${when}: the read is not repeatable`);
    return true;
  }

  #nameFuture({ writer, commit }: Version): void {
    if (writer === undefined) return;
    const missed = this.#findOther(writer, (cell, shown, at) => {
      return shown !== writer.finalValue(cell) && (at ?? -1) < indexOf(cell, writer);
    });
    if (missed !== undefined) {
      this.#nameDivided(writer, this.#read.observation, missed);
      return;
    }
    this.#add("future-read", [writer], `of ${writer}, committed at ${commit}, after the reader's start`);
  }

  #nameStale(at: number): void {
    const { reader, observation, expected } = this.#read;
    const { versions } = observation.cell;
    const newest = observation.cell.indexAt(reader.start);
    for (let index = newest; index > at && index > newest - maxPassed; index--) {
      const { writer } = versions[index]!;
      if (writer === undefined) continue;
      const seen = this.#findOther(writer, (cell, shown, place) => {
        return shown === writer.finalValue(cell) && place === indexOf(cell, writer);
      });
      if (seen !== undefined) {
        this.#nameDivided(writer, seen, observation);
        return;
      }
    }
    const writer = expected?.writer;
    const told = writer?.recorded.ended;
    const { begun } = reader.recorded;
    const isStale =
      writer?.recorded.outcome.type === "committed" && told !== undefined && begun !== undefined;
    const missed = writer === undefined ? "the version from before the recording" : `the write of ${writer}`;
    this.#add(
      isStale && told < begun ? "stale-read" : "missed-write",
      writer === undefined ? [] : [writer],
      `missing ${missed}${isStale && told < begun ? ", which was reported as committed before the reader began" : ""}`,
    );
  }

  /** Reports that a reader saw `writer` in one cell and not in another. */
  #nameDivided(writer: CheckedTransaction, seen: Observation, unseen: Observation): void {
    const vanished = seen.invoked < unseen.invoked;
    const { reader } = this.#read;
    this.#anomalies.add(vanished ? "OTV" : "fractured-read", [reader, writer], () => {
      const saw = `${seen.cell} = ${show(seen.value)} of ${writer}`;
      const order = vanished ? "but afterwards did not see" : "but before had not seen";
      return `${reader} saw ${saw}, ${order} its write of ${unseen.cell} (shown: ${show(unseen.value)}).`;
    });
  }

  /** Finds another cell that `writer` wrote and the reader saw. */
  #findOther(
    writer: CheckedTransaction,
    fits: (cell: Cell, value: RecordedValue, at: number | undefined) => boolean,
  ): Observation | undefined {
    const { reader, observation } = this.#read;
    for (const cell of writer.writes.keys()) {
      if (cell === observation.cell) continue;
      const found = this.#view
        .of(cell)
        .find(({ value }) => fits(cell, value, cell.indexShown(reader.start, value)));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #add(kind: Parameters<Anomalies["add"]>[0], others: readonly CheckedTransaction[], why: string): void {
    const { reader, observation, expected, own } = this.#read;
    this.#anomalies.add(kind, [reader, ...others], () => {
      const how = observation.inRange ? "in a range" : "by name";
      const right = own ? "" : ` At ${reader.start} it is ${show(expected?.value)}.`;
      return `${reader} read ${observation.cell} ${how} as ${show(observation.value)}, ${why}.${right}`;
    });
  }
}

/** Returns the index of the version that a writer wrote. */
function indexOf(cell: Cell, writer: CheckedTransaction): number {
  return cell.versions.findIndex((version) => version.writer === writer);
}

/** Formats a value for messages, shortened if it is long. */
export function show(value: RecordedValue): string {
  if (value === undefined) return "nothing";
  return value.length > 60 ? `${value.slice(0, 57)}...` : value;
}
