import type { LedgerFact } from "../../../src/core/call/proposal.ts";
import { receiptOf } from "../../../src/core/call/receipt.ts";
import type { Command } from "../../../src/core/decide/command.ts";
import { type Decision, decide } from "../../../src/core/decide/decide.ts";
import type { Event } from "../../../src/core/event/event.ts";
import { emptyRun, findStep, type Run } from "../../../src/core/run/run.ts";
import { checkRowsAndCharges } from "../../../src/core/store/check-entry.ts";
import type { AppendResult } from "../../../src/core/store/store.ts";
import type { LedgerRow } from "../../../src/core/store/tables.ts";
import type { EffectKey, RunId } from "../../../src/core/values/ids.ts";
import { standardGuards } from "../../../src/policy/guards/standard-guards.ts";
import { MemoryTables } from "../../../src/store/memory/memory-tables.ts";
import { acme, noon, robin } from "../../../src/testing/given/fixtures.ts";
import { entryFor, rulesWith } from "../../../src/testing/given/given.ts";

/** Open runs that share one ledger: each command is decided by the law and landed as a store would, conditions first. */
export class MultiRunLedger {
  now = noon;
  /** Every version of the key's row that anyone could have read, oldest first. */
  readonly facts: LedgerFact[] = [];
  readonly #key: EffectKey;
  readonly #tables = new MemoryTables();
  readonly #runs = new Map<string, Run>();
  readonly #past = new Map<string, readonly Event[]>();

  constructor(key: EffectKey, origins: Readonly<Record<string, string>>) {
    this.#key = key;
    for (const [name, origin] of Object.entries(origins)) {
      this.#runs.set(name, emptyRun(idOf(name), acme));
      this.decideAndLand(name, {
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
  decideAndLand(name: string, command: Command): Decision | null {
    const before = this.run(name);
    const decision = decide(before, command, rulesWith(standardGuards));
    if (decision.events.length === 0) return decision;
    const entry = entryFor(before, decision.events, decision.after, decision.checks);
    const landing = checkRowsAndCharges(entry, this.#tables);
    if (!landing.landed) return this.#isSuperseded(name, decision, landing) ? this.decideAndLand(name, command) : null;
    this.#tables.write(entry);
    this.#runs.set(name, decision.after);
    this.#past.set(name, [...(this.#past.get(name) ?? []), ...decision.events]);
    this.#read();
    return decision;
  }

  /** A later act has the row of an act of this run: that is put on record first. */
  #isSuperseded(name: string, { events }: Decision, landing: AppendResult): boolean {
    const found = "found" in landing ? landing.found : null;
    const written = events.find((event) => {
      const writes = "ledger" in event && event.ledger && event.type !== "step.started";
      return writes && findStep(this.run(name), event.step_id)?.call?.key === this.#key;
    });
    if (found === null || written === undefined || !("step_id" in written)) return false;
    const { run_id: run, step_id: step, generation } = JSON.parse(found.row) as LedgerRow;
    const by = { run, step, generation };
    const noted = this.decideAndLand(name, { type: "supersede", now: this.now, step_id: written.step_id, by });
    return noted !== null && noted.events.length > 0;
  }

  #read(): void {
    const stored = this.#tables.row(acme, "ledger", this.#key);
    if (stored === null || stored.version === this.facts.at(-1)?.version) return;
    const row = JSON.parse(stored.row) as LedgerRow;
    const proof = row.receipt === null ? null : this.#past.get(nameOf(row.run_id))?.[row.receipt - 1];
    this.facts.push({ version: stored.version, row, receipt: proof ? receiptOf(proof) : null, sighting: null });
  }
}

const idOf = (name: string) => `run_${name}` as RunId;
const nameOf = (id: RunId) => id.slice("run_".length);
