/** A range of byte strings. */
export interface Interval {
  /** Inclusive. */
  readonly start: Uint8Array;
  /** Exclusive. Undefined for no end. */
  readonly end: Uint8Array | undefined;
}

interface Node<T extends Interval> {
  readonly item: T;
  /** Orders intervals with the same start, so that each can be found again. */
  readonly order: number;
  readonly priority: number;
  left: Node<T> | undefined;
  right: Node<T> | undefined;
  /** The greatest end in the tree under this node. Undefined for no end. */
  maxEnd: Uint8Array | undefined;
}

/**
 * Finds the intervals that contain a point. It is a treap: a tree sorted by start whose random
 * priorities keep it balanced. Adding and removing take logarithmic time, and finding takes that
 * for each interval found.
 */
export class IntervalTree<T extends Interval> {
  #root: Node<T> | undefined;
  readonly #orders = new Map<T, number>();
  #added = 0;
  #random = 0x9e37_79b9;

  get size(): number {
    return this.#orders.size;
  }

  add(item: T): void {
    const order = this.#added++;
    this.#orders.set(item, order);
    const priority = this.#nextPriority();
    this.#root = insert(this.#root, {
      item,
      order,
      priority,
      left: undefined,
      right: undefined,
      maxEnd: item.end,
    });
  }

  /** Removes an interval that was added. Has no effect on others. */
  remove(item: T): void {
    const order = this.#orders.get(item);
    if (order === undefined) return;
    this.#orders.delete(item);
    this.#root = remove(this.#root, item, order);
  }

  /** Calls `tell` with each interval that contains `point`. `tell` must not change the tree. */
  containing(point: Uint8Array, tell: (item: T) => void): void {
    find(this.#root, point, tell);
  }

  /** Xorshift. The order of additions must not unbalance the tree, and nothing else depends on it. */
  #nextPriority(): number {
    let value = this.#random;
    value ^= value << 13;
    value ^= value >>> 17;
    value ^= value << 5;
    this.#random = value;
    return value;
  }
}

function compare(a: Interval, aOrder: number, b: Interval, bOrder: number): number {
  return Buffer.compare(a.start, b.start) || aOrder - bOrder;
}

function insert<T extends Interval>(node: Node<T> | undefined, added: Node<T>): Node<T> {
  if (node === undefined) return added;
  if (added.priority > node.priority) {
    [added.left, added.right] = split(node, added.item, added.order);
    return withMaxEnd(added);
  }
  if (compare(added.item, added.order, node.item, node.order) < 0) node.left = insert(node.left, added);
  else node.right = insert(node.right, added);
  return withMaxEnd(node);
}

/** Divides a tree into the nodes before and after a place. */
function split<T extends Interval>(
  node: Node<T> | undefined,
  item: T,
  order: number,
): [Node<T> | undefined, Node<T> | undefined] {
  if (node === undefined) return [undefined, undefined];
  if (compare(node.item, node.order, item, order) < 0) {
    const [before, after] = split(node.right, item, order);
    node.right = before;
    return [withMaxEnd(node), after];
  }
  const [before, after] = split(node.left, item, order);
  node.left = after;
  return [before, withMaxEnd(node)];
}

function remove<T extends Interval>(node: Node<T> | undefined, item: T, order: number): Node<T> | undefined {
  if (node === undefined) return undefined;
  const place = compare(item, order, node.item, node.order);
  if (place === 0) return join(node.left, node.right);
  if (place < 0) node.left = remove(node.left, item, order);
  else node.right = remove(node.right, item, order);
  return withMaxEnd(node);
}

/** Joins two trees, the first of which is before the second. */
function join<T extends Interval>(
  before: Node<T> | undefined,
  after: Node<T> | undefined,
): Node<T> | undefined {
  if (before === undefined) return after;
  if (after === undefined) return before;
  if (before.priority > after.priority) {
    before.right = join(before.right, after);
    return withMaxEnd(before);
  }
  after.left = join(before, after.left);
  return withMaxEnd(after);
}

function withMaxEnd<T extends Interval>(node: Node<T>): Node<T> {
  let maxEnd = node.item.end;
  for (const child of [node.left, node.right]) {
    if (child === undefined || maxEnd === undefined) continue;
    if (child.maxEnd === undefined || Buffer.compare(child.maxEnd, maxEnd) > 0) maxEnd = child.maxEnd;
  }
  node.maxEnd = maxEnd;
  return node;
}

function find<T extends Interval>(
  node: Node<T> | undefined,
  point: Uint8Array,
  tell: (item: T) => void,
): void {
  if (node === undefined || isBefore(node.maxEnd, point)) return;
  find(node.left, point, tell);
  if (Buffer.compare(node.item.start, point) > 0) return;
  if (!isBefore(node.item.end, point)) tell(node.item);
  find(node.right, point, tell);
}

/** Whether an exclusive end excludes a point. */
function isBefore(end: Uint8Array | undefined, point: Uint8Array): boolean {
  return end !== undefined && Buffer.compare(end, point) <= 0;
}
