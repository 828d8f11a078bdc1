import type { Task } from "./task.js";

/** A first-in, first-out queue. It frees the memory of removed items. */
export class TaskQueue {
  #items: (Task | undefined)[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  push(task: Task): void {
    this.#items.push(task);
  }

  /** Puts a task before all others. */
  unshift(task: Task): void {
    if (this.#head > 0) this.#items[--this.#head] = task;
    else this.#items.unshift(task);
  }

  shift(): Task | undefined {
    const task = this.#items[this.#head];
    if (task === undefined) return undefined;
    this.#items[this.#head++] = undefined;
    if (this.#head > 512 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return task;
  }

  /** Removes the tasks for which `stays` returns false. The others keep their order. */
  keep(stays: (task: Task) => boolean): void {
    this.#items = this.drain().filter(stays);
  }

  /** Removes and returns all tasks. */
  drain(): Task[] {
    const rest = this.#items.slice(this.#head) as Task[];
    this.#items = [];
    this.#head = 0;
    return rest;
  }
}
