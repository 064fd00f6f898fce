import type { Planted } from "./plant.ts";

const decide = "core/decide";

/** People, gates, requests and the life of a run. */
export const governing: readonly Planted[] = [
  {
    name: "an approval is not consumed",
    file: `${decide}/start.js`,
    find: 'gate === null || gate.status === "consumed" ? null :',
    replace: "gate !== undefined ? null :",
  },
  {
    name: "an approval is good for ever",
    file: `${decide}/approval.js`,
    find: "use_by !== null && now <= use_by",
    replace: "use_by !== null",
  },
  {
    name: "a gate is decided after it expired",
    file: `${decide}/gate.js`,
    find: "if (now >= gate.expires_at) {",
    replace: "if (gate.expires_at < 0) {",
  },
  {
    name: "an agent decides a gate",
    file: `${decide}/gate.js`,
    find: 'if (kind !== "person")',
    replace: 'if (kind === "nobody")',
  },
  {
    name: "whoever asks decides their own gate",
    file: "core/demand.js",
    find: 'if (vote.by === requester && !part.self && part.kind !== "confirmation")',
    replace: 'if (vote.by === "")',
  },
  {
    name: "a gate is decided twice",
    file: `${decide}/gate.js`,
    find: 'if (gate.status !== "open")\n        return contested(',
    replace: 'if (gate.status === "consumed")\n        return contested(',
  },
  {
    name: "an act is done without a person in a gated run",
    file: "policy/mode-allows.js",
    find: "return isTrusted(admission) ? ALLOW : hold(",
    replace: 'return isTrusted(admission) || step.cause?.by === "errand" ? ALLOW : hold(',
  },
  {
    name: "the same request key with another plan gets the old run",
    file: "engine/road/submit.js",
    find: "if (row.digest === request.digest)",
    replace: "if (row.run_id)",
  },
  {
    name: "a request key is no condition",
    file: "core/rows-of.js",
    find: "requestKey(event.principal.id, event.request.key), null, row)",
    replace: 'requestKey(event.principal.id, event.request.key), "any", row)',
  },
  {
    name: "cancelling cancels an act in flight",
    file: "core/place.js",
    find: 'case "failed_retryable":\n            return true;',
    replace: 'case "failed_retryable":\n        case "running":\n            return true;',
  },
  {
    name: "an errand begins, and a doubt found absent runs again, in a cancelled run",
    file: "core/place.js",
    find: "if (run.cancel !== null && !isUndo(step))",
    replace: "if (run.cancel === run)",
  },
  {
    name: "a step begins before all it needs",
    file: "core/evolve/step.js",
    find: "if (nearer.missing === 0)",
    replace: "if (nearer.missing <= 1)",
    also: {
      file: `${decide}/start.js`,
      find: "const gone = step.cause === null &&",
      replace: "const gone = step.cause === run &&",
    },
  },
  {
    name: "a retry does not count the tries before it",
    file: `${decide}/retry.js`,
    find: "? attempt : attempt - step.forgiven;",
    replace: "? attempt : 1;",
  },
  {
    name: "a notice is marked before it is delivered",
    file: "engine/road/deliveries.js",
    find: "if (!(await this.#isTaken(delivery.notice)))",
    replace:
      'await mailbox.ask({ type: "deliver", now: ports.clock.now(), notice_id });\n await this.#isTaken(delivery.notice);\n if (this.#stopped)',
  },
  {
    name: "a run that is parked goes on",
    file: `${decide}/start.js`,
    find: "if (run.poison !== null || !startable(step, now))",
    replace: "if (!startable(step, now))",
    also: {
      file: "engine/watch/held-run.js",
      find: "if (this.run.poison !== null)",
      replace: "if (this.run.id === null)",
    },
  },
  {
    name: "nobody minds how many workers a run has killed",
    file: `${decide}/takeover.js`,
    find: "if (times < most)",
    replace: "if (times < most + 1)",
  },
  {
    name: "whoever asked for a run is not told of its end",
    file: "engine/post/family.js",
    find: 'if (kin === "report") {',
    replace: 'if (kin === "report") {\n return;',
  },
  {
    name: "a run that is cancelled leaves alone what it asked for",
    file: "engine/post/family.js",
    find: "await cancel(ports, holds, run, parentOf(ports, run, step_id));",
    replace: "",
  },
  {
    name: "a late value is dropped",
    file: `${decide}/end.js`,
    find: 'if (act !== null && ending.how === "value")',
    replace: "if (act !== null && ending.how === null)",
  },
  {
    name: "a cost is charged once to two tallies",
    file: "core/limits/tally.js",
    find: '{ tally: tallyOf(unit, "tenant", "", month), amount },',
    replace: "",
  },
  {
    name: "a tally forgets what was charged twice in one entry",
    file: "store/memory/tables.js",
    find: "this.tallies.set([tenant, tally], this.used(tenant, tally) + amount);",
    replace: "this.tallies.set([tenant, tally], amount);",
  },
  {
    name: "a run that another worker had begun is taken up as it was",
    file: "engine/watch/holds.js",
    find: "const fold = claim.epoch === 1 ? loaded : undefined;",
    replace: "const fold = loaded;",
  },
  {
    name: "a slot is given to a run that has gone",
    file: "engine/watch/slots.js",
    find: "this.#queue.delete(next);\n            next();",
    replace: "this.#queue.delete(next);\n            return next();",
  },
  {
    name: "an act that was done again elsewhere cannot be settled",
    file: "engine/record/mailbox.js",
    find: "if (this.#superseded(batch, landing))",
    replace: "if (batch === null)",
  },
  {
    name: "a waiting run is not due",
    file: "core/run.js",
    find: "return isOver ? null : nextWake(run);",
    replace: "return isOver || run.paces.retrying > 0 ? null : nextWake(run);",
  },
  {
    name: "the chain forgets its predecessor",
    file: "engine/record/journal.js",
    find: "bytes.set(previous, start + 8);",
    replace: "bytes.set(position < 4 ? previous : GENESIS, start + 8);",
  },
  {
    name: "a failed attempt costs nothing",
    file: `${decide}/end.js`,
    find: "function failed(run, step, command, why, ledger) {",
    replace: "function failed(run, step, { ...command }, why, ledger) {\n    command.cost = null;",
  },
  {
    name: "a wait is over before its time",
    file: "core/step.js",
    find: "now >= standing.on.until",
    replace: "now > 0",
    also: {
      file: "engine/watch/held-run.js",
      find: "if (at <= this.#ports.clock.now())",
      replace: "if (at > 0)",
    },
  },
  {
    name: "a secret is kept in full",
    file: "engine/road/keep.js",
    find: "for (const pointer of redact)",
    replace: "for (const pointer of redact.slice(1))",
  },
  {
    name: "an errand is forgotten",
    file: "engine/road/walk.js",
    find: "errands: succeeded ?",
    replace: "errands: succeeded && ports === null ?",
  },
  {
    name: "a deadline means nothing",
    file: "policy/deadline.js",
    find: "if (run.deadline_at === null ||",
    replace: "if (run.deadline_at !== 0 ||",
  },
  {
    name: "a draft acts",
    file: "policy/mode-allows.js",
    find: "switch (mode) {",
    replace: 'switch (mode === "draft_only" ? "auto_exec" : mode) {',
  },
  {
    name: "a precondition is not looked at",
    file: "policy/preconditions.js",
    find: "if (broken === undefined)",
    replace: "if (step !== undefined)",
  },
  {
    name: "what is claimed is held to be true",
    file: `${decide}/start.js`,
    find: "if (holds(claim, (id) => outputOf(run, id)))",
    replace: "if (claim !== undefined)",
  },
  {
    name: "a plan goes on after a step has ended it",
    file: `${decide}/start.js`,
    find: "if (run.stopped !== null)",
    replace: "if (run.stopped === run)",
    also: {
      file: "core/place.js",
      find: "if (run.stopped !== null && !isUndo(step))",
      replace: "if (run.stopped === run)",
    },
  },
];
