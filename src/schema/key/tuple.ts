import { types } from "node:util";
import { InvalidKeyError, SchemaError } from "../../errors/index.js";
import { describeValue } from "../describe.js";
import { limits } from "../limits.js";
import { isBuiltCodec, type KeyPart } from "../value/codec.js";
import { buildKeyCodec, type KeyCodec, keyCost, shortKeyBytes, tooLong } from "./key.js";
import { type KeyPartForm, keyPartForms, keyRoom } from "./key-part.js";

/** At least one codec that can be a part of a key. */
export type KeyParts = readonly [KeyPart<unknown>, ...KeyPart<unknown>[]];

/** The type of the keys that have these parts. */
export type TupleOf<P extends KeyParts> = {
  readonly [I in keyof P]: P[I] extends KeyPart<infer V> ? V : never;
};

/** The most parts of a composite key. 32 is far more than any key of 1,500 bytes needs. */
const maxParts = 32;

/**
 * Declares composite row keys. They sort by their first part, then by their second, and so on.
 * Strings and bytes sort by their bytes, numbers by value, and `false` before `true`. The parts are
 * `text`, `bytes`, `int`, `float` and `boolean`.
 *
 * In a `float` part, -0 is a separate key just below 0. In an `int` part, -0 is 0. NaN has no order
 * and is refused.
 *
 * On command lines, a key is a JSON array, with bytes in base64 and the infinities as `"Infinity"`
 * and `"-Infinity"`.
 *
 * @throws SchemaError for no parts, more than 32, or a codec without an order.
 *
 * @example
 * const visits = table("visits", { seconds: float() }, { key: tuple(text(), int()) });
 * tx.set(visits.seconds, ["https://example.org/", 2024], 1.5);
 * tx.scan(visits, { prefix: ["https://example.org/"] });
 */
export function tuple<P extends KeyParts>(...parts: P): KeyCodec<TupleOf<P>> {
  if (parts.length > maxParts)
    throw new SchemaError(`A key of ${parts.length} parts is too wide: at most ${maxParts}`);
  return tupleOfTags(parts.map(tagOf)) as KeyCodec<TupleOf<P>>;
}

function tagOf(part: KeyPart<unknown>, index: number): string {
  if (isBuiltCodec(part) && keyPartForms.has(part.tag)) return part.tag;
  const got = isBuiltCodec(part) ? `${part.tag}()` : describeValue(part);
  throw new SchemaError(
    `Part ${index + 1} of a key cannot be ${got}: use text(), bytes(), int(), float() or boolean()`,
  );
}

/** The composite key whose parts have these tags. Each tag is one of {@link keyPartForms}. */
function tupleOfTags(tags: readonly string[]): KeyCodec<readonly unknown[]> {
  if (tags.length === 0) throw new SchemaError("A key needs at least one part: tuple(text()), for example");
  const forms = tags.map((tag) => keyPartForms.get(tag)!);
  return buildKeyCodec<readonly unknown[]>(`tuple(${tags.join(",")})`, {
    encode(key) {
      checkArity(forms, key, forms.length);
      return encodeParts(forms, key);
    },
    encodeInto(key, target) {
      checkArity(forms, key, forms.length);
      const length = writeParts(forms, key, target);
      return length <= shortKeyBytes ? length : -1;
    },
    decodeRange: (buffer, start, end) => decodeParts(forms, buffer, start, end),
    prefix(partial) {
      if (typeof partial === "string" && isOneText(tags)) return startOfText(forms, partial);
      checkPrefix(forms, partial);
      return encodeParts(forms, partial);
    },
    format(key) {
      checkArity(forms, key, forms.length);
      return `[${key.map((part, i) => formatPart(forms[i]!, i, part)).join(",")}]`;
    },
    parse(text) {
      const key = parseParts(forms, text);
      checkArity(forms, key, forms.length);
      encodeParts(forms, key);
      return key;
    },
  });
}

/** The key codec with this {@link KeyCodec.tag}. Undefined if this version knows no such codec. */
export function tupleFromTag(tag: string): KeyCodec<readonly unknown[]> | undefined {
  const tags = /^tuple\(([a-z,]+)\)$/.exec(tag)?.[1]?.split(",");
  return tags?.every((part) => keyPartForms.has(part)) ? tupleOfTags(tags) : undefined;
}

// Shared by all calls: each copies its key out before the next one encodes.
const scratch = Buffer.allocUnsafe(keyRoom);

function encodeParts(forms: readonly KeyPartForm[], key: readonly unknown[]): Buffer {
  const encoded = Buffer.from(scratch.subarray(0, writeParts(forms, key, scratch)));
  const cost = keyCost(encoded);
  if (cost > limits.keyBytes) throw tooLong(cost);
  return encoded;
}

/**
 * Writes the parts to the beginning of `target`, which has at least {@link keyRoom} bytes. Returns
 * how many bytes it wrote.
 */
function writeParts(forms: readonly KeyPartForm[], key: readonly unknown[], target: Buffer): number {
  let at = 0;
  for (let i = 0; i < key.length; i++) {
    const form = forms[i]!;
    const part = key[i];
    if (!form.accepts(part)) throw badPart(form, i, part);
    if (lengthOf(part) > limits.keyBytes) throw tooLong(at + lengthOf(part));
    at = form.write(part as never, target, at);
    if (at > limits.keyBytes) throw tooLong(at);
  }
  return at;
}

/** The fewest bytes that a string or byte part can take. 0 for other parts. */
function lengthOf(part: unknown): number {
  if (typeof part === "string") return part.length;
  return types.isUint8Array(part) ? part.length : 0;
}

function decodeParts(forms: readonly KeyPartForm[], buffer: Buffer, start: number, end: number): unknown[] {
  const cursor = { buffer, at: start, end };
  const key: unknown[] = [];
  for (let i = 0; i < forms.length; i++) {
    const part = forms[i]!.read(cursor);
    if (part === undefined) throw damaged(`part ${i + 1} cannot be read`);
    key.push(part);
  }
  if (cursor.at !== end) throw damaged(`${end - cursor.at} bytes are left over`);
  return key;
}

function parseParts(forms: readonly KeyPartForm[], text: string): unknown[] {
  let held: unknown;
  try {
    held = JSON.parse(text);
  } catch (cause) {
    throw new InvalidKeyError(
      `${describeValue(text)} is not a JSON array, but a key of ${forms.length} parts must be one`,
      { cause },
    );
  }
  if (!Array.isArray(held)) throw new InvalidKeyError(`${describeValue(text)} is not a JSON array`);
  return held.map((part: unknown, i) => (forms[i] === undefined ? part : forms[i].parse(part)));
}

function checkArity(
  forms: readonly KeyPartForm[],
  key: unknown,
  least: number,
): asserts key is readonly unknown[] {
  if (!Array.isArray(key)) {
    throw new InvalidKeyError(`the key must be an array of ${forms.length} parts, not ${describeValue(key)}`);
  }
  if (key.length < least || key.length > forms.length) {
    const wanted = least === 0 ? `at most ${forms.length}` : `${forms.length}`;
    throw new InvalidKeyError(`the key must be an array of ${wanted} parts, not of ${key.length}`);
  }
}

/**
 * Throws if a prefix is not an array of leading parts. The message shows a correct one, because a
 * common mistake is to give one part without brackets.
 */
function checkPrefix(forms: readonly KeyPartForm[], partial: unknown): asserts partial is readonly unknown[] {
  if (Array.isArray(partial) && partial.length <= forms.length) return;
  const one = `[${forms[0]!.example}]`;
  const examples = forms.length === 1 ? one : `${one} or [${forms[0]!.example}, ${forms[1]!.example}]`;
  throw new InvalidKeyError(
    `a prefix of this key is an array of its leading parts, such as ${examples}, and of at most ${forms.length} of them, not ` +
      (Array.isArray(partial) ? `${partial.length} parts` : describeValue(partial)),
  );
}

/** Whether a key is a single string. Its prefix may then be a plain string. */
export function isOneText(tags: readonly string[]): boolean {
  return tags.length === 1 && tags[0] === "text";
}

/**
 * The leading bytes of all keys whose only part starts with `start`. They are the encoded part
 * without its terminator.
 */
function startOfText(forms: readonly KeyPartForm[], start: string): Buffer {
  return encodeParts(forms, [start]).subarray(0, -1);
}

function formatPart(form: KeyPartForm, index: number, part: unknown): string {
  if (!form.accepts(part)) throw badPart(form, index, part);
  return form.format(part as never);
}

function badPart(form: KeyPartForm, index: number, part: unknown): InvalidKeyError {
  return new InvalidKeyError(`part ${index + 1} must be ${form.expected}, not ${describeValue(part)}`);
}

function damaged(what: string): InvalidKeyError {
  return new InvalidKeyError(`the stored bytes are not a key of this table: ${what}`);
}
