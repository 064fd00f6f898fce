/** One replacement in a compiled file. */
export interface Edit {
  /** Below dist-sim/src. */
  readonly file: string;
  /** Exactly once in the file, or planting fails. */
  readonly find: string;
  readonly replace: string;
}

/** A small wrong that is put into a copy of the compiled engine, to see whether the simulator finds it. */
export interface Planted extends Edit {
  readonly name: string;
  /** Where the engine would catch it a second time. */
  readonly also?: Edit;
}

const decide = "core/decide";

/** Who may act, and whether it happened. */
const acting: readonly Planted[] = [
  {
    name: "a started act is run again after a takeover",
    file: `${decide}/settle.js`,
    find: 'if (mark === "no" && step.act.doubt === null) {',
    replace: "if (step.act.doubt === null) {",
  },
  {
    name: "the start is recorded after the tool was called",
    file: "engine/mailbox.js",
    find: "const landing = await this.#send(entry);",
    replace:
      'if (batch.letters[0].command.type === "start") batch.letters[0].answer(batch.decisions[0]);\n const landing = await this.#send(entry);',
  },
  {
    name: "the key that a tool receives has the attempt in it",
    file: "engine/walk.js",
    find: "downstreamKey(call.key, grant.generation);",
    replace: "downstreamKey(call.key, grant.generation + grant.attempt - 1);",
  },
  {
    name: "the key has no tenant in it",
    file: "engine/propose.js",
    find: '"writ/key/v1", run.tenant, tool.name',
    replace: '"writ/key/v1", "", tool.name',
  },
  {
    name: "an identity reaches no further than its run",
    file: "engine/propose.js",
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
    find: "const timeoutMs = spec.timeout_ms ?? tool.timeoutMs;",
    replace: "const { timeoutMs } = tool;",
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
    file: "engine/propose.js",
    find: "key: downstreamKey(key, generation)",
    replace: "key",
  },
  {
    name: "what was undone can be undone once more",
    file: `${decide}/settle.js`,
    find: "const impossible = cannotUndo(step, tool) ?? cannotAskAgain(run, step);",
    replace: 'const impossible = step.standing.state.startsWith("compensat") ? null : cannotUndo(step, tool);',
  },
];

/** Fences, markers, and what a store promises. */
const fencing: readonly Planted[] = [
  {
    name: "the epoch is not checked",
    file: "core/judge.js",
    find: "if (expect.epoch !== null && view.epoch(tenant, run) !== expect.epoch)",
    replace: "if (expect.epoch === -1)",
  },
  {
    name: "the marker is always missing",
    file: "store/memory/memory-store.js",
    find: 'return tables.markers.get(tenant, run, step, attempt) === undefined ? "no" : "yes";',
    replace: 'return "no";',
  },
  {
    name: "the tool is called without a marker",
    file: "engine/walk.js",
    find: "if (!(await ports.store.mark(claim, grant.step_id, grant.attempt)))",
    replace: "if (grant.attempt < 0)",
  },
  {
    name: "the marker ignores the fence",
    file: "store/memory/memory-store.js",
    find: "if (tables.epoch(tenant, run) !== epoch)\n                return false;",
    replace: "",
  },
  {
    name: "a marker is believed to be missing after a restart of the machine",
    file: "engine/found.js",
    find: "await store.marked(tenant, id, spec.step_id, act.attempt, act.boot)",
    replace: "await store.marked(tenant, id, spec.step_id, act.attempt, store.boot)",
  },
  {
    name: "a lease can be taken while it lasts",
    file: "store/memory/memory-store.js",
    find: "return isFree(lease) || lease?.worker === worker ? take(worker, tenant, run) : null;",
    replace: "return take(worker, tenant, run);",
  },
  {
    name: "a claim leaves the epoch as it is",
    file: "store/memory/memory-store.js",
    find: "const epoch = ((tables.epoch(tenant, run) ?? 0) + 1);",
    replace: "const epoch = tables.epoch(tenant, run) ?? 1;",
  },
  {
    name: "a ledger row is written whatever is there",
    file: "core/rows-of.js",
    find: 'return put("ledger", call.key, over(version), row);',
    replace: 'return put("ledger", call.key, "any", row);',
  },
  {
    name: "a row is found without its tenant",
    file: "store/memory/tables.js",
    find: "return this.rows(table).get(tenant, key) ?? null;",
    replace:
      'for (const each of ["acme", "blue", "corp"])\n if (this.rows(table).get(each, key)) return this.rows(table).get(each, key);\n return null;',
  },
  {
    name: "an append that had landed is not recognised",
    file: "engine/mailbox.js",
    find: "return Buffer.from(landing.hash).equals(sent);",
    replace: "return false;",
  },
  {
    name: "an outcome is dropped when another append came first",
    file: "engine/mailbox.js",
    find: "this.#letters.unshift(...batch.letters);",
    replace:
      'for (const letter of batch.letters)\n letter.command.type === "end" ? letter.answer(batch.decisions[0]) : this.#letters.push(letter);',
  },
  {
    name: "an outcome is dropped when the store fails",
    file: "engine/mailbox.js",
    find: "batch.letters.filter((letter) => letter.keep)",
    replace: "[]",
  },
];

/** People, gates, requests and the life of a run. */
const governing: readonly Planted[] = [
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
    file: `${decide}/gate.js`,
    find: "if (id === run.principal.id) {",
    replace: 'if (id === "") {',
  },
  {
    name: "a gate is decided twice",
    file: `${decide}/gate.js`,
    find: 'if (gate.status !== "open") {',
    replace: 'if (gate.status === "consumed") {',
  },
  {
    name: "an act is done without a person in a gated run",
    file: "policy/mode-allows.js",
    find: "if (proposal.trusted)",
    replace: 'if (proposal.trusted || step.cause?.by === "errand")',
  },
  {
    name: "the same request key with another plan gets the old run",
    file: "engine/submit.js",
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
    find: "const made = attempt - step.forgiven;",
    replace: "const made = 1;",
  },
  {
    name: "a notice is marked before it is delivered",
    file: "engine/deliveries.js",
    find: "await onNotice({ ...notice, run_id: this.#mailbox.run.id });",
    replace:
      'await this.#mailbox.ask({ type: "deliver", now: this.#ports.clock.now(), notice_id: notice.notice_id });\n await onNotice({ ...notice, run_id: this.#mailbox.run.id });\n return true;',
  },
  {
    name: "a late value is dropped",
    file: `${decide}/end.js`,
    find: 'if (act !== null && ending.how === "value")',
    replace: "if (act !== null && ending.how === null)",
  },
  {
    name: "a cost is charged once to two tallies",
    file: "core/tally.js",
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
    file: "engine/holds.js",
    find: "const fold = claim.epoch === 1 ? loaded : undefined;",
    replace: "const fold = loaded;",
  },
  {
    name: "a slot is given to a run that has gone",
    file: "engine/slots.js",
    find: "this.#queue.delete(next);\n            next();",
    replace: "this.#queue.delete(next);\n            return next();",
  },
  {
    name: "an act that was done again elsewhere cannot be settled",
    file: "engine/mailbox.js",
    find: "if (this.#superseded(batch, landing))",
    replace: "if (batch === null)",
  },
  {
    name: "a waiting run is not due",
    file: "core/run.js",
    find: "return run.paces.moving > 0",
    replace: "return run.paces.retrying > 0 ? null : run.paces.moving > 0",
  },
  {
    name: "the chain forgets its predecessor",
    file: "engine/journal.js",
    find: "bytes.set(previous, end);",
    replace: "if (position < 4) bytes.set(previous, end);",
  },
];

export const planted: readonly Planted[] = [...acting, ...fencing, ...governing];
