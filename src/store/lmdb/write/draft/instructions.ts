import { endianness } from "node:os";
import type { ConditionalHandle, Databases, Handle } from "../../record/databases.js";
import { forget } from "../../record/errors.js";
import { type InstructionBuffer, placeholder } from "../../record/key.js";
import type { Change } from "./change.js";
import { addressAt, headBytes } from "./instruction-layout.js";
import type { Slab } from "./slab.js";

/**
 * Instructions for the write thread of LMDB's binding, written here instead of by the binding. For
 * each change, the binding would copy the key, and make a closure and three other objects. In a
 * slab, a key already stands where the binding's instruction has it, so that only numbers are
 * missing.
 *
 * The format is that of `writer.cpp` of the pinned version. Numbers have 4 bytes, and addresses are
 * floating-point numbers of 8 bytes:
 *
 * | put | removal | pointer to the next instruction |
 * | --- | --- | --- |
 * | flags, database, length of the key | flags, database, length of the key | flags, nothing |
 * | key, zeros up to the length of the value | key, zeros | address |
 * | length of the value, address of the value | | |
 *
 * The address of the value, and each instruction, begins at a multiple of 8 bytes.
 *
 * In a slab, a pointer follows each instruction, and then the value. So the instructions of a draft
 * are a chain through its slabs. To run it, the binding is asked for one harmless removal, the
 * placeholder. Before the write thread can see it, a pointer to the chain replaces it. The chain
 * ends with a pointer to what the binding queued next. If anything about the placeholder is not as
 * in the pinned version, it stays as it is, and the binding gets each change.
 */

const putFlags = 15;
const removeFlags = 13;
const pointerFlags = 3;
/** The binding waits for this bit of the placeholder. The thread does not set it for pointers. */
const finished = 0x100_0000;
const isLittleEndian = endianness() === "LE";

/** A handle of the binding. The number of its database is undocumented. */
interface NumberedHandle extends Handle<unknown> {
  readonly db?: { readonly dbi?: unknown };
}

function numberOf(handle: NumberedHandle): number {
  const dbi = handle.db?.dbi;
  return typeof dbi === "number" ? dbi : -1;
}

/**
 * Queues `changes`, which are in `slabs`, inside the function that `ifNoExists` of `meta` got. Call
 * it before other changes are queued there. Returns false if the binding must queue each change.
 */
export function queueInstructions(
  databases: Databases,
  changes: readonly Change[],
  slabs: readonly Slab[],
): boolean {
  if (changes.length === 0 || !isLittleEndian) return false;
  const { meta } = databases;
  for (const slab of slabs) learnAddress(meta, slab);
  const numbers = {
    cells: numberOf(databases.cells),
    versions: numberOf(databases.versions),
    protocol: numberOf(databases.protocol),
  };
  const known =
    slabs.every(({ address }) => isAddress(address)) && Object.values(numbers).every((n) => n > 0);
  if (!known) return false;
  settle(meta.remove(placeholder));
  const { target, targetStart: start } = placeholder;
  placeholder.target = undefined;
  if (target === undefined || !isPlaceholder(target, start, numberOf(meta))) return false;
  const { uint32, float64, position } = target;
  const place = (start - headBytes) >> 3;
  link(changes, numbers, uint32.address + 8 * position);
  float64[place + 1] = addressOf(changes[0]!);
  uint32[2 * place] = pointerFlags | finished;
  return true;
}

/** Makes the binding compute the address of a slab. */
function learnAddress(meta: ConditionalHandle<unknown>, slab: Slab): void {
  if (slab.address !== 0) return;
  slab.start = 0;
  slab.end = 1;
  // The record is removed behind the draft.
  settle(meta.put(placeholder, slab));
}

function settle(queued: unknown): void {
  if (queued instanceof Promise) queued.catch(forget);
}

function isAddress(address: unknown): boolean {
  return typeof address === "number" && address > 0 && address % 8 === 0 && Number.isSafeInteger(address);
}

/** Whether `target` has the removal of the placeholder as the pinned version of the binding writes it. */
function isPlaceholder({ uint32, float64, position }: InstructionBuffer, start: number, meta: number) {
  const isNative =
    uint32 instanceof Uint32Array &&
    float64 instanceof Float64Array &&
    uint32.buffer === float64.buffer &&
    uint32.byteOffset === 0 &&
    isAddress(uint32.address);
  if (!isNative || (start - headBytes) % 8 !== 0) return false;
  const at = (start - headBytes) >> 2;
  const isRemoval =
    uint32[at] === removeFlags && uint32[at + 1] === meta && uint32[at + 2] === placeholder.length;
  return isRemoval && 8 * position === addressAt(start + placeholder.length);
}

/** Completes the instructions of `changes`, in order. `next` is the address of what follows them. */
function link(changes: readonly Change[], numbers: Record<Change["store"], number>, next: number): void {
  for (let i = changes.length - 1, after = next; i >= 0; i--) {
    const change = changes[i]!;
    const { view, address } = change.bytes;
    const keyEnd = change.start + change.length;
    const end = addressAt(keyEnd);
    const isPut = change.valueEnd >= 0;
    const at = change.start - headBytes;
    view.setUint32(at, isPut ? putFlags : removeFlags, true);
    view.setUint32(at + 4, numbers[change.store], true);
    view.setUint32(at + 8, change.length, true);
    for (let zero = keyEnd; zero < end; zero++) view.setUint8(zero, 0);
    let pointer = end;
    if (isPut) {
      view.setUint32(end - 4, change.valueEnd - change.valueStart, true);
      view.setFloat64(end, address + change.valueStart, true);
      pointer += 8;
    }
    view.setUint32(pointer, pointerFlags, true);
    view.setFloat64(pointer + 8, after, true);
    after = address + at;
  }
}

function addressOf(change: Change): number {
  return change.bytes.address + change.start - headBytes;
}
