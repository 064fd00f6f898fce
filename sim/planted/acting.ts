import type { Planted } from "./plant.ts";

const decide = "core/decide";

/** Who may act, and whether it happened. */
export const acting: readonly Planted[] = [
  {
    name: "a started act is run again after a takeover",
    file: `${decide}/settle.js`,
    find: 'if (mark === "no" && step.act.doubt === null) {',
    replace: "if (step.act.doubt === null) {",
  },
  {
    name: "the start is recorded after the tool was called",
    file: "engine/record/mailbox.js",
    find: "const landing = await appendOnce(this.#ports, entry);",
    replace:
      'if (batch.letters[0].command.type === "start") batch.letters[0].answer(batch.decisions[0]);\n const landing = await appendOnce(this.#ports, entry);',
  },
  {
    name: "the key that a tool receives has the attempt in it",
    file: "engine/road/walk.js",
    find: "downstreamKey(call.key, grant.generation);",
    replace: "downstreamKey(call.key, grant.generation + grant.attempt - 1);",
  },
  {
    name: "the key has no tenant in it",
    file: "engine/road/propose.js",
    find: '"writ/key/v1", run.tenant, tool.name',
    replace: '"writ/key/v1", "", tool.name',
  },
  {
    name: "an identity reaches no further than its run",
    file: "engine/road/propose.js",
    find: 'scope: "tenant", text: canonical(values)',
    replace: "scope: step, text: canonical(values)",
  },
  {
    name: "a timeout of an act counts as a failure",
    file: `${decide}/end.js`,
    find: 'return ending.how === "not_done" ||',
    replace: 'return ending.how === "not_done" || ending.how === "unheard" ||',
  },
  {
    name: "an error of an act counts as a failure",
    file: `${decide}/end.js`,
    find: 'ending.how === "error" && tool.errorsMean === "not_done"',
    replace: 'ending.how === "error"',
  },
  {
    name: "not done is believed of a call that was sent again",
    file: `${decide}/end.js`,
    find: "if (provesNothingDone(command) && act.doubt === null)",
    replace: "if (provesNothingDone(command))",
  },
  {
    name: "the promise of a key counts from the last call",
    file: "core/evolve/step.js",
    find: "sent_at: again?.sent_at ?? event.at,",
    replace: "sent_at: event.at,",
  },
  {
    name: "a call is sent again after its promise ran out",
    file: `${decide}/ledger.js`,
    find: "return until !== null && now < until;",
    replace: "return until !== null;",
    also: { file: "engine/road/walk.js", find: "(until !== null && now >= until)", replace: "until === run" },
  },
  {
    name: "absent is believed at once",
    file: `${decide}/settle.js`,
    find: "if (absent_at !== null && now >= exits.quiet_at)",
    replace: "if (now > 0)",
  },
  {
    name: "a plan's longer timeout does not delay the proof of absence",
    file: `${decide}/end.js`,
    find: "const underWayMs = (spec.timeout_ms ?? tool.timeoutMs) + settleAfterMs;",
    replace: "const underWayMs = tool.timeoutMs + settleAfterMs;",
  },
  {
    name: "a copy is sent that may arrive after the promise ran out",
    file: `${decide}/end.js`,
    find: "(sentAt + idempotentForMs - underWayMs)",
    replace: "(sentAt + idempotentForMs)",
  },
  {
    name: "an act of another run is not held but done again",
    file: `${decide}/ledger.js`,
    find: 'if (relation === "stranger" && tool.onDuplicate === "hold")',
    replace:
      'if (relation === "stranger" && tool.onDuplicate === "hold")\n return { kind: "execute", ledger: { version: version + 1, generation: row.generation }, again: null };\n if (relation === "nobody")',
  },
  {
    name: "doubt in another run is no reason to hold",
    file: `${decide}/ledger.js`,
    find: 'return relation === "stranger" ? duplicate(row, "DUPLICATE_IN_DOUBT", false) : { kind: "wait", row };',
    replace: 'return relation === "stranger" ? execute : { kind: "wait", row };',
  },
  {
    name: "whoever else has started is not waited for",
    file: `${decide}/ledger.js`,
    find: 'case "started":\n            return { kind: "wait", row };',
    replace: 'case "started":\n            return execute;',
  },
  {
    name: "resuming runs a committed act again",
    file: "core/place.js",
    find: 'return act === null || act.state === "not_done" || act.state === "absent";',
    replace: "return true;",
  },
  {
    name: "an undo undoes the first of two",
    file: "engine/road/propose.js",
    find: "key: downstreamKey(key, generation)",
    replace: "key",
  },
  {
    name: "what was undone can be undone once more",
    file: `${decide}/settle.js`,
    find: "const impossible = cannotUndo(step, tool) ?? cannotAskAgain(run, step);",
    replace: 'const impossible = step.standing.state.startsWith("compensat") ? null : cannotUndo(step, tool);',
  },
  {
    name: "an act with nothing to say is done again",
    file: `${decide}/ledger.js`,
    find: "if (receipt === null || another)",
    replace:
      'if (receipt?.output === null)\n return { kind: "execute", ledger: { version: version + 1, generation: row.generation }, again: null };\n if (receipt === null || another)',
  },
  {
    name: "the ledger is not told that an act is done",
    file: "core/rows-of.js",
    find: 'if ("ledger" in event && event.ledger && !event.ledger.superseded)',
    replace: 'if ("ledger" in event && event.ledger && !event.ledger.superseded && event.type !== "step.succeeded")',
  },
  {
    name: "a step gets what another answered",
    file: "engine/road/propose.js",
    find: "const standing = findStep(run, step)?.standing;\n    const value",
    replace:
      'const standing = Array.from(run.steps).find((each) => each.standing.state === "succeeded")?.standing;\n    const value',
  },
];
