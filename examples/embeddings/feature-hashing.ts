import { hash32 } from "./hash.js";

/** The number of dimensions of an embedding. */
export const dimensions = 512;

/**
 * Computes an embedding without a model, by feature hashing. Each word, and each pair of successive
 * words, is counted in a dimension and with a sign that its hash determines. Texts with common
 * words are near each other, but meaning plays no role. A real application would call a model here,
 * and everything else would stay the same. The vector has length 1, or 0 for a text without words.
 */
export function embedByFeatureHashing(text: string): Float32Array {
  const vector = new Float32Array(dimensions);
  for (const [feature, times] of featuresOf(text)) {
    const place = hash32(feature) % dimensions;
    const sign = hash32(feature, 1) % 2 === 0 ? 1 : -1;
    vector[place]! += sign * Math.sqrt(times);
  }
  const length = Math.sqrt(similarity(vector, vector));
  if (length === 0) return vector;
  return vector.map((value) => value / length);
}

function featuresOf(text: string): ReadonlyMap<string, number> {
  const features = new Map<string, number>();
  const add = (feature: string) => features.set(feature, (features.get(feature) ?? 0) + 1);
  let last: string | undefined;
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? []) {
    add(word);
    if (last !== undefined) add(`${last} ${word}`);
    last = word;
  }
  return features;
}

/**
 * The cosine of the angle between two embeddings: 1 for equal texts, about 0 for texts without
 * common words.
 */
export function similarity(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < a.length; index++) sum += a[index]! * b[index]!;
  return sum;
}

/** Encodes an embedding as bytes, least significant byte first. */
export function encodeVector(vector: Float32Array): Uint8Array {
  const view = new DataView(new ArrayBuffer(4 * vector.length));
  for (const [index, value] of vector.entries()) view.setFloat32(4 * index, value, true);
  return new Uint8Array(view.buffer);
}

export function decodeVector(bytes: Uint8Array): Float32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Float32Array.from({ length: bytes.byteLength / 4 }, (_, index) => view.getFloat32(4 * index, true));
}
