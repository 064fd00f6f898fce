import type { Planted } from "./plant.ts";

/** Wrongs in what becomes of state. */
export const stating: readonly Planted[] = [
  {
    name: "a version is put over whatever is there",
    file: "core/rows-of.js",
    find: 'return put("project", project, over(version), row);',
    replace: 'return put("project", project, "any", row);',
  },
  {
    name: "a call does not mind what others wrote meanwhile",
    file: "core/decide/end.js",
    find: "if (state !== null && state.quarrel !== null)",
    replace: "if (state !== null && state.quarrel === undefined)",
  },
  {
    name: "what was read is no reason to run a call again",
    file: "core/state/patch.js",
    find: "if (reads.meets(place) || (change.op",
    replace: "if (false || (change.op",
  },
  {
    name: "a failed call leaves all of its draft",
    file: "core/state/draft.js",
    find: "return this.#changes.filter(({ path }) => logs.has(parsePointer(path)?.[0]));",
    replace: "return this.#changes;",
  },
  {
    name: "what a failed call said to a log is lost",
    file: "core/state/draft.js",
    find: "return this.#changes.filter(({ path }) => logs.has(parsePointer(path)?.[0]));",
    replace: "return [];",
  },
  {
    name: "a call that is refused something succeeds if it looks away",
    file: "core/state/draft.js",
    find: "this.#flaw ??= why;",
    replace: "",
  },
  {
    name: "an act's word is applied to the state as it was when it began",
    file: "engine/desk/desk.js",
    find: "const draft = draftOf({ ...head, state: patched(head.state, patch) });",
    replace: "const draft = draftOf({ ...head, state: patched(this.#base.state, patch) });",
  },
  {
    name: "a fork begins with nothing",
    file: "engine/desk/desk.js",
    find: "run.forked?.state ?? null",
    replace: "null",
  },
  {
    name: "going back takes logs along",
    file: "engine/desk/checkpoints.js",
    find: "preserveLogs: options.preserveLogs ?? true",
    replace: "preserveLogs: options.preserveLogs ?? false",
  },
  {
    name: "going back forgets what has come since",
    file: "engine/desk/checkpoints.js",
    find: "reverting(this.#project.head.state, this.#then.state, since,",
    replace: "reverting(this.#project.head.state, this.#then.state, since.slice(0, 1),",
  },
];
