import type { Command } from "../../src/core/command.ts";
import { type Decision, decide } from "../../src/core/decide.ts";
import type { Event } from "../../src/core/event.ts";
import type { EffectKey, RunId } from "../../src/core/id.ts";
import { judgeBeyond } from "../../src/core/judge.ts";
import type { LedgerFact } from "../../src/core/proposal.ts";
import type { LedgerRow } from "../../src/core/rows.ts";
import { findStep, type Run, unbornRun } from "../../src/core/run.ts";
import type { Landing } from "../../src/core/store.ts";
import { standingGuards } from "../../src/policy/guards.ts";
import { Tables } from "../../src/store/memory/tables.ts";
import { acme, noon, robin } from "../../src/testing/given/cast.ts";
import { entryOf } from "../../src/testing/given.ts";

/** Open runs that share one ledger: each command is decided by the law and landed as a store would, conditions first. */
export class OneLedger {
  now = noon;
  /** Every version of the key's row that anyone could have read, oldest first. */
  readonly facts: LedgerFact[] = [];
  readonly #key: EffectKey;
  readonly #tables = new Tables();
  readonly #runs = new Map<string, Run>();
  readonly #past = new Map<string, readonly Event[]>();

  constructor(key: EffectKey, origins: Readonly<Record<string, string>>) {
    this.#key = key;
    for (const [name, origin] of Object.entries(origins)) {
      this.#runs.set(name, unbornRun(idOf(name), acme));
      this.ask(name, {
        ...{
          type: "accept",
          now: this.now,
          run_id: idOf(name),
          origin: idOf(origin),
          principal: robin,
          mode: "auto_exec",
        },
        ...{ plan: null, context: {}, request: null, tools: {}, deadline_at: null, correlation_id: "", trace_id: "" },
      });
    }
  }

  run(name: string): Run {
    return this.#runs.get(name) as Run;
  }

  /** Null: the ledger's row is not the one that the command relied on. */
  ask(name: string, command: Command): Decision | null {
    const before = this.run(name);
    const decision = decide(before, command, standingGuards);
    if (decision.events.length === 0) return decision;
    const entry = entryOf(before, decision.events, decision.after, decision.checks);
    const landing = judgeBeyond(entry, this.#tables);
    if (!landing.landed) return this.#isSuperseded(name, decision, landing) ? this.ask(name, command) : null;
    this.#tables.write(entry);
    this.#runs.set(name, decision.after);
    this.#past.set(name, [...(this.#past.get(name) ?? []), ...decision.events]);
    this.#read();
    return decision;
  }

  /** A later act has the row of an act of this run: that is put on record first. */
  #isSuperseded(name: string, { events }: Decision, landing: Landing): boolean {
    const found = "found" in landing ? landing.found : null;
    const written = events.find((event) => {
      const writes = "ledger" in event && event.ledger && event.type !== "step.started";
      return writes && findStep(this.run(name), event.step_id)?.call?.key === this.#key;
    });
    if (found === null || written === undefined || !("step_id" in written)) return false;
    const { run_id: run, step_id: step, generation } = JSON.parse(found.row) as LedgerRow;
    const by = { run, step, generation };
    const noted = this.ask(name, { type: "supersede", now: this.now, step_id: written.step_id, by });
    return noted !== null && noted.events.length > 0;
  }

  #read(): void {
    const stored = this.#tables.row(acme, "ledger", this.#key);
    if (stored === null || stored.version === this.facts.at(-1)?.version) return;
    const row = JSON.parse(stored.row) as LedgerRow;
    const proof = row.receipt === null ? null : this.#past.get(nameOf(row.run_id))?.[row.receipt - 1];
    this.facts.push({ version: stored.version, row, receipt: proof ? receiptIn(proof) : null, sighting: null });
  }
}

const idOf = (name: string) => `run_${name}` as RunId;
const nameOf = (id: RunId) => id.slice("run_".length);

function receiptIn(proof: Event): LedgerFact["receipt"] {
  if (proof.type === "step.succeeded") return { output: proof.output, at: proof.at };
  if (proof.type !== "step.settled" || proof.settled.as !== "happened") return null;
  return { output: proof.settled.output, at: proof.at };
}
