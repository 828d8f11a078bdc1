import { hash32 } from "./hash.js";

/** How many numbers an embedding has. */
export const dimensions = 512;

/**
 * An embedding without a model, by feature hashing: each word, and each pair of words that follow
 * one another, is counted at a place that its hash chooses, with a sign that its hash chooses.
 * Texts with words in common come out near each other; of meaning it knows nothing. A real
 * application calls a model here, and nothing else changes. Of length 1, or 0 for a text without
 * words.
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
 * The cosine of the angle between two embeddings: 1 for texts alike, about 0 for such that share
 * nothing.
 */
export function similarity(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < a.length; index++) sum += a[index]! * b[index]!;
  return sum;
}

/** An embedding as bytes, the least significant first. */
export function encodeVector(vector: Float32Array): Uint8Array {
  const view = new DataView(new ArrayBuffer(4 * vector.length));
  for (const [index, value] of vector.entries()) view.setFloat32(4 * index, value, true);
  return new Uint8Array(view.buffer);
}

export function decodeVector(bytes: Uint8Array): Float32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Float32Array.from({ length: bytes.byteLength / 4 }, (_, index) => view.getFloat32(4 * index, true));
}
