import type { Mutant } from "./mutant.js";

const attempt = "src/observer/run/attempt.ts";
const putHints = "src/transaction/commit/put-hints.ts";
const twoPhase = "src/transaction/commit/two-phase.ts";

/** Mutants of hints, acknowledgments and parking. */
export const observerMutants: readonly Mutant[] = [
  {
    name: "hint stamped with S",
    patches: [
      {
        file: putHints,
        find: "mutations: [putHint(column, commit)]",
        replace: "mutations: [putHint(column, request.start)]",
      },
    ],
    killedBy: "observedPrimary",
  },
  {
    name: "hint deleted up to the run's commit ts",
    takesLong: true,
    patches: [
      {
        file: attempt,
        find: "deleteHint(hint, upTo)",
        replace: "deleteHint(hint, this.#tx.commitTimestamp ?? upTo)",
      },
    ],
    killedBy: "observedPrimary",
  },
  {
    name: "hint written after the commit point",
    patches: [
      {
        file: twoPhase,
        find: "const hints = await this.#orAbandon(() => this.#putHints(view, commit));",
        replace: "const hints = await findHints(this.#context, this.#request, view);",
      },
      {
        file: twoPhase,
        find: 'if (answer === "applied") return this.#committed(commit, hints);',
        replace:
          'if (answer === "applied") {\n        await putHints(this.#context, this.#request, hints, commit);\n        return this.#committed(commit, hints);\n      }',
      },
    ],
    killedBy: "observedPrimary",
  },
  {
    name: "a hint deleted over a lock that was met and passed by without pushing it",
    takesLong: true,
    patches: [
      {
        file: "src/transaction/lock/resolve.ts",
        find: '    if (resolution.role === "writer") return "standing";\n',
        replace:
          '    if (resolution.role === "writer") return "standing";\n    resolution.passed.add(met.start);\n    if (met.start > 0) return "passed";\n',
      },
    ],
    killedBy: "observedPrimary",
  },
  {
    name: "the new C of a pushed transaction without its new hint",
    takesLong: true,
    patches: [
      {
        file: twoPhase,
        find: "const hints = await this.#orAbandon(() => this.#putHints(view, commit));",
        replace:
          "const hints = await this.#orAbandon(() => push === 0 ? this.#putHints(view, commit) : findHints(this.#context, this.#request, view));",
      },
    ],
    killedBy: "observedPush",
  },
  {
    name: "a retried run that does not read ack_O again",
    takesLong: true,
    patches: [
      {
        file: attempt,
        find: "state: state!,",
        replace: "state: (this.#options.registry.remembered ??= state!),",
      },
    ],
    killedBy: "twoWorkers",
  },
  {
    name: "a shared run that deletes the hints of other columns, and does not acknowledge their changes",
    takesLong: true,
    patches: [
      {
        file: attempt,
        find: "this.#handle(each, state);",
        replace: "if (found.includes(each)) this.#handle(each, state);",
      },
    ],
    killedBy: "sharedRunsTwoWorkers",
  },
  {
    name: "a batch that deletes the hints of the changes that it takes along, and does not acknowledge them",
    takesLong: true,
    patches: [
      {
        file: attempt,
        find: "this.#handle(each, state);",
        replace: "if (each === found[0] || !found.includes(each)) this.#handle(each, state);",
      },
    ],
    killedBy: "batchTwoWorkers",
  },
  {
    name: "a shared run that acknowledges other columns though they have not changed",
    takesLong: true,
    patches: [
      {
        file: attempt,
        find: "besides.filter(({ registered, state }) => isDue(registered, state, start))",
        replace: "besides.filter(() => start > 0)",
      },
    ],
    killedBy: "sharedRunsWriter",
  },
  {
    name: "hints written by the writer's own list of observers instead of the registry",
    takesLong: true,
    patches: [
      {
        file: "src/transaction/commit/current-view.ts",
        find: "return await (isExact ? notifications.reload() : notifications.fresh());",
        replace: "return await notifications.current();",
      },
    ],
    killedBy: "registration",
  },
  {
    name: "hints by an old word of the registry, in one phase",
    patches: [
      {
        file: "src/transaction/commit/one-phase.ts",
        find: "const registryRow = view === undefined ? -1 : rows.append(view.guards);",
        replace: "const registryRow = -1;",
      },
    ],
    killedBy: "registrationOnePhase",
  },
  {
    name: "hints by an old copy of the registry, in two phases on a server with atomic batches",
    patches: [
      {
        file: "src/transaction/commit/current-view.ts",
        find: "isExact ? notifications.reload() : notifications.fresh()",
        replace: "notifications.fresh()",
      },
    ],
    killedBy: "registrationRemoteInTwoPhases",
    order: "depth-first",
  },
  {
    name: "crashes counted in the version of a hint alone",
    takesLong: true,
    patches: [
      {
        file: "src/observer/run/crashes.ts",
        find: "const record = (await readCrashRecord(this.#registry.context.store, task.hint)) ?? noRecord;",
        replace: "const record = noRecord;",
      },
    ],
    killedBy: "killingCell",
  },
  {
    name: "the record of a run that forgets the crashes before it",
    takesLong: true,
    patches: [
      {
        file: "src/observer/run/crashes.ts",
        find: "const record = { crashes, countedUpTo, runner: this.#sessions.session, alone: isAlone || undefined };",
        replace:
          "const record = { crashes: 0, countedUpTo, runner: this.#sessions.session, alone: isAlone || undefined };",
      },
    ],
    killedBy: "killingCellTwice",
  },
  {
    name: "a run after an unclean end that is not recorded before it starts",
    takesLong: true,
    patches: [
      {
        file: "src/observer/run/runner.ts",
        find: "    await this.#crashes.begin(task, found, isAlone);\n",
        replace: "",
      },
    ],
    killedBy: "killingCell",
  },
  {
    name: "registering that does not wait for copies of the registry",
    takesLong: true,
    patches: [
      {
        file: "src/observer/registry/registry.ts",
        find: "    if (waitMs > 0) await sleep(this.#environment, waitMs, signal, doing);\n",
        replace: "",
      },
    ],
    killedBy: "registrationDistant",
  },
  {
    name: "parking that deletes a newer hint",
    patches: [
      {
        file: "src/observer/run/park.ts",
        find: "deleteHint(task.hint, start)",
        replace: "deleteHint(task.hint, Number.MAX_SAFE_INTEGER - 1)",
      },
    ],
    killedBy: "parkingOnePhase",
  },
  {
    name: "a stale attempt at a signal that deletes a newer hint",
    takesLong: true,
    patches: [
      {
        file: attempt,
        find: "const upTo = handledUpTo(this.#registered, state, this.#tx.startTimestamp);",
        replace: "const upTo = this.#tx.startTimestamp;",
      },
    ],
    killedBy: "signalParking",
    order: "depth-first",
  },
  {
    name: "one record for the backfills of all ranges",
    takesLong: true,
    patches: [
      {
        file: "src/observer/registry/backfill.ts",
        find: "return { id: backfillId(wanted), ...wanted };",
        replace: 'return { id: "all", ...wanted };',
      },
    ],
    killedBy: "twoBackfills",
  },
  {
    name: "a backfill that does not wait for copies of the registry",
    takesLong: true,
    patches: [
      {
        file: "src/observer/registry/backfill.ts",
        find: "    await this.#registry.untilKnown(this.#name, this.#options.signal, backfillOf(this.#name));\n",
        replace: "",
      },
    ],
    killedBy: "newVersionRemote",
  },
  {
    name: "an attempt that reads the registry before its start",
    takesLong: true,
    patches: [
      {
        file: attempt,
        find: "    tx = await CoreTransaction.begin(registry.context, run);\n",
        replace:
          "    const known = await registry.fresh();\n    tx = await CoreTransaction.begin(registry.context, run);\n",
      },
      {
        file: attempt,
        find: "const view = await registry.fresh();",
        replace: "const view = known;",
      },
    ],
    killedBy: "newVersion",
  },
  {
    name: "discard that acknowledges up to now",
    patches: [
      {
        file: "src/observer/registry/parked.ts",
        find: "writeAcknowledgment(tx, registered, cell, state.parked.start, state.parked.version);",
        replace: "writeAcknowledgment(tx, registered, cell, tx.startTimestamp, state.parked.version);",
      },
    ],
    killedBy: "discarding",
  },
  {
    name: "two observers' runs at one S",
    patches: [
      {
        file: attempt,
        find: "tx = await CoreTransaction.begin(registry.context, run);",
        replace: `const real = registry.context.oracle;
    let taken = false;
    const next = async (options) => {
      if (taken) return real.next(options);
      taken = true;
      const shared = registry.sharedStart;
      registry.sharedStart = shared === undefined ? await real.next(options) : undefined;
      return shared ?? registry.sharedStart;
    };
    const shared = { ...registry.context, oracle: { next, latest: () => real.latest() } };
    tx = await CoreTransaction.begin(shared, run);`,
      },
    ],
    killedBy: "twoObserversOneCell",
  },
];
