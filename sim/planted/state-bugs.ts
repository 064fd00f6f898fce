import type { PlantedBug } from "./plant-bug.ts";

/** Bugs in state. */
export const stateBugs: readonly PlantedBug[] = [
  {
    name: "a state version is written unconditionally",
    file: "core/evolve/event-rows.js",
    find: 'return put("project", project, previousVersion(version), row);',
    replace: 'return put("project", project, "any", row);',
  },
  {
    name: "a state conflict is ignored",
    file: "core/decide/end-attempt.js",
    find: "if (state !== null && state.conflict !== null)",
    replace: "if (state !== null && state.conflict === undefined)",
  },
  {
    name: "a changed read is not a conflict",
    file: "core/state/patch.js",
    find: "if (reads.overlaps(place) || (change.op",
    replace: "if (false || (change.op",
  },
  {
    name: "a failed call leaves all of its draft",
    file: "core/state/draft.js",
    find: "return this.#changes.filter((change) => isLog(change) && !isReplaced(change));",
    replace: "return this.#changes;",
  },
  {
    name: "the log entries of a failed call are lost",
    file: "core/state/draft.js",
    find: "return this.#changes.filter((change) => isLog(change) && !isReplaced(change));",
    replace: "return [];",
  },
  {
    name: "a call that ignores a refused write succeeds",
    file: "core/state/draft.js",
    find: "this.#fault ??= why;",
    replace: "",
  },
  {
    name: "an event of an act is applied to the state at the start of the act",
    file: "engine/state/attempt-state.js",
    find: "const draft = makeDraft({ ...head, state: applyPatch(head.state, patch) });",
    replace: "const draft = makeDraft({ ...head, state: applyPatch(this.#base.state, patch) });",
  },
  {
    name: "a fork starts with an empty state",
    file: "engine/state/attempt-state.js",
    find: "run.forked?.state ?? null",
    replace: "null",
  },
  {
    name: "a restore reverts logs",
    file: "engine/admin/checkpoint-admin.js",
    find: "preserveLogs: options.preserveLogs ?? true",
    replace: "preserveLogs: options.preserveLogs ?? false",
  },
  {
    name: "a restore ignores later versions",
    file: "engine/admin/checkpoint-admin.js",
    find: "revertPatch(project.head.state, version.state, since,",
    replace: "revertPatch(project.head.state, version.state, since.slice(0, 1),",
  },
];
