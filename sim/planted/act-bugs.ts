import type { PlantedBug } from "./plant-bug.ts";

/** Bugs in the decisions whether an act may run and whether it happened. */
export const actBugs: readonly PlantedBug[] = [
  {
    name: "a started act is run again after a takeover",
    file: "core/decide/recover-run.js",
    find: 'if (mark === "no" && step.act.doubt === null) {',
    replace: "if (step.act.doubt === null) {",
  },
  {
    name: "the start is recorded after the tool was called",
    file: "engine/journal/run-mailbox.js",
    find: "const appending = appendTimed(this.#ports, entry);",
    replace:
      'if (batch?.events[0].type === "step.started") batch.commands[0].answer(batch.decisions[0]);\n const appending = appendTimed(this.#ports, entry);',
  },
  {
    name: "the key that a tool receives has the attempt in it",
    file: "engine/call/execute.js",
    find: "downstreamKey(call.key, grant.generation)",
    replace: "downstreamKey(call.key, grant.generation + grant.attempt - 1)",
  },
  {
    name: "the key has no tenant in it",
    file: "engine/call/make-proposal.js",
    find: '"writ/key/v1", run.tenant, tool.name',
    replace: '"writ/key/v1", "", tool.name',
  },
  {
    name: "an identity reaches no further than its run",
    file: "engine/call/make-proposal.js",
    find: 'scope: "tenant", text: canonicalJson(values)',
    replace: "scope: step, text: canonicalJson(values)",
  },
  {
    name: "a timeout of an act counts as a failure",
    file: "core/decide/end-attempt.js",
    find: 'return ending.how === "not_done" ||',
    replace: 'return ending.how === "not_done" || ending.how === "unheard" ||',
  },
  {
    name: "an error of an act counts as a failure",
    file: "core/decide/end-attempt.js",
    find: 'ending.how === "error" && tool.errorsMean === "not_done"',
    replace: 'ending.how === "error"',
  },
  {
    name: "the report that a resent call was not done is trusted",
    file: "core/decide/end-attempt.js",
    find: "if (provesNothingDone(command) && act.doubt === null)",
    replace: "if (provesNothingDone(command))",
  },
  {
    name: "the idempotency of a key counts from the last call",
    file: "core/evolve/evolve-step.js",
    find: "sent_at: resent?.sent_at ?? event.at,",
    replace: "sent_at: event.at,",
  },
  {
    name: "a call is resent after its idempotency ended",
    file: "core/decide/ledger-permit.js",
    find: "return until !== null && now < until;",
    replace: "return until !== null;",
    also: {
      file: "engine/call/check-before-call.js",
      find: "(until !== null && now >= until)",
      replace: "until === run",
    },
  },
  {
    name: "a copy is sent that may arrive after the idempotency ended",
    file: "core/decide/end-attempt.js",
    find: "(sentAt + promisedMs - inTransitMs)",
    replace: "(sentAt + promisedMs)",
  },
  {
    name: "an absent answer is trusted at once",
    file: "core/decide/settle-doubt.js",
    find: "if (absent_at !== null && quiet_in === 0)",
    replace: "if (now > 0)",
  },
  {
    name: "a plan's longer timeout does not delay the proof of absence",
    file: "core/decide/end-attempt.js",
    find: "const inTransitMs = (step.spec.timeout_ms ?? tool.timeoutMs) + settleAfterMs;",
    replace: "const inTransitMs = tool.timeoutMs + settleAfterMs;",
  },
  {
    name: "an act of another run is not held but done again",
    file: "core/decide/ledger-permit.js",
    find: 'if (relation === "stranger" && tool.onDuplicate === "hold")',
    replace:
      'if (relation === "stranger" && tool.onDuplicate === "hold")\n return { kind: "execute", ledger: { version: version + 1, generation: row.generation }, again: null };\n if (relation === "nobody")',
  },
  {
    name: "doubt in another run is no reason to hold",
    file: "core/decide/ledger-permit.js",
    find: 'return relation === "stranger" ? holdDuplicate(row, "DUPLICATE_IN_DOUBT", false) : { kind: "wait", row };',
    replace: 'return relation === "stranger" ? execute : { kind: "wait", row };',
  },
  {
    name: "a started act of another run is not waited for",
    file: "core/decide/ledger-permit.js",
    find: 'case "started":\n            return { kind: "wait", row };',
    replace: 'case "started":\n            return execute;',
  },
  {
    name: "resuming runs a committed act again",
    file: "core/run/step-transition.js",
    find: 'return act === null || act.state === "not_done" || act.state === "absent";',
    replace: "return true;",
  },
  {
    name: "an undo of the second act undoes the first one",
    file: "engine/call/make-proposal.js",
    find: "key: downstreamKey(key, generation)",
    replace: "key",
  },
  {
    name: "an undone act can be undone again",
    file: "core/decide/settle-doubt.js",
    find: "const impossible = atomicUndoFault(run, step) ?? undoFault(step, tool) ?? repeatedUndoFault(run, step);",
    replace: 'const impossible = step.standing.state.startsWith("compensat") ? null : undoFault(step, tool);',
  },
  {
    name: "an act with a null output is done again",
    file: "core/decide/ledger-permit.js",
    find: "if (receipt === null || receipt.key === null || isOtherCall)",
    replace:
      'if (receipt?.output === null)\n return { kind: "execute", ledger: { version: version + 1, generation: row.generation }, again: null };\n if (receipt === null || receipt.key === null || isOtherCall)',
  },
  {
    name: "a done act is not recorded in the ledger",
    file: "core/evolve/event-rows.js",
    find: 'if ("ledger" in event && event.ledger && !event.ledger.superseded)',
    replace: 'if ("ledger" in event && event.ledger && !event.ledger.superseded && event.type !== "step.succeeded")',
  },
  {
    name: "a step receives the output of another step",
    file: "engine/call/make-proposal.js",
    find: "const standing = findStep(run, step)?.standing;\n    const value",
    replace:
      'const standing = Array.from(run.steps).find((each) => each.standing.state === "succeeded")?.standing;\n    const value',
  },
];
