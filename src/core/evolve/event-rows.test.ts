import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countOperations } from "../../../tests/core/operation-count.ts";
import { standardGuards } from "../../policy/guards/standard-guards.ts";
import {
  accepts,
  answers,
  approves,
  cancels,
  delivers,
  does,
  resolvedHappened,
  resolves,
  resumes,
  starts,
  timesOut,
  undoes,
} from "../../testing/given/commands.ts";
import {
  acme,
  ana,
  fakeDigest,
  fakeKey,
  hireRun,
  later,
  noon,
  plan,
  readPage,
  sendMail,
  step,
} from "../../testing/given/fixtures.ts";
import {
  applyEntry,
  entryFor,
  type GivenRun,
  given,
  type RowMap,
  rowMapKey,
  rulesWith,
} from "../../testing/given/given.ts";
import { driveRandomRun, type RandomChoice, randomPlan } from "../../testing/given/random-run.ts";
import { decide } from "../decide/decide.ts";
import { emptyRun } from "../run/run.ts";
import { rowVersionAfter } from "../store/check-entry.ts";
import type { Put, StoredRow } from "../store/store.ts";
import type { Table } from "../store/tables.ts";
import { eventRows, historyRows, oldRequestKey, requestKey } from "./event-rows.ts";
import { evolve } from "./evolve.ts";

const row = ({ rows }: GivenRun, table: Table, key: string): unknown => {
  const stored = rows.get(rowMapKey(table, key));
  return stored === undefined ? null : { version: stored.version, ...JSON.parse(stored.row) };
};

describe("a decision about one of many waiting steps", () => {
  const work = (count: number) => {
    const ids = Array.from({ length: count }, (_, at) => `send-${at}`);
    const steps = ids.map((id) => step(id, { tool: sendMail }));
    const scenario = given(accepts(plan(...steps), { mode: "human_gated" })).when(...ids.map((id) => starts(id)));
    const command = approves("send-7")(scenario);
    return countOperations(() => {
      const { events, after } = decide(scenario.run, command, rulesWith(standardGuards));
      eventRows(scenario.run, events, after);
    });
  };

  it("does not take more work if more steps wait", () => {
    const [few, many] = [work(40), work(400)];
    expect(many / few).toBeLessThan(2); // Trees get a level or two deeper. A scan of all steps would exceed eight.
  });
});

describe("the rows of a run", () => {
  const send = step("send", { tool: sendMail });

  it("map a request to its run, once", () => {
    const request = { key: "welcome ana", digest: fakeDigest("the plan") };
    const scenario = given(accepts(plan(send), { request }));
    expect(row(scenario, "request", oldRequestKey("robin", "welcome ana"))).toEqual({
      version: 1,
      run_id: hireRun,
      digest: request.digest,
    });
    const scoped = given(accepts(plan(send), { request: { ...request, form: 2 }, project: "p" }));
    expect(row(scoped, "request", requestKey("robin", "welcome ana", { project: "p" }))).toMatchObject({
      run_id: hireRun,
    });
    const twice = entryFor(emptyRun(hireRun, acme), scenario.events, scenario.run);
    expect(() => applyEntry(scenario.rows, twice)).toThrow();
  });

  it("contain no request row if the run has no request", () => {
    expect([...given(accepts(plan(send))).rows.keys()]).toEqual([`run ${hireRun}`, `timer ${hireRun}`]);
  });

  it("have different keys for different requests", () => {
    expect(oldRequestKey("a", "bc")).not.toBe(oldRequestKey("ab", "c"));
    expect(oldRequestKey("1:a", "b")).not.toBe(oldRequestKey("1", ":ab"));
    const scopes = [{}, { project: "p" }, { session: "p" }, { project: "p", session: "p" }];
    const keys = ["a", 'a",null]'].flatMap((id) => scopes.map((scope) => requestKey(id, "k", scope)));
    expect(new Set(keys).size).toBe(keys.length);
  });

  it("show the status of the run, and are written only when it changes", () => {
    const scenario = given(accepts(plan(step("a"), step("b"))));
    const running = { run_id: hireRun, origin: hireRun, status: "running", final: false, mode: "auto_exec" };
    const more = { principal: "robin", plan_id: "plan_1", accepted_at: noon, ended_at: null };
    const shown = { updated_at: noon, steps: 2, succeeded: 0, done: 0 };
    expect(row(scenario, "run", hireRun)).toEqual({ version: 0, ...running, ...more, ...shown });
    const before = scenario.when(starts("a"));
    const after = before.when(answers("a"));
    expect(entryFor(before.run, after.newEvents, after.run).puts).toEqual([]);
  });

  it("show the time of the latest end of the run", () => {
    const failed = given(accepts(plan(step("a")))).when(
      starts("a", { flaw: { code: "INVALID_INPUT", message: "no" } }),
    );
    expect(row(failed, "run", hireRun)).toMatchObject({ status: "failed", final: true, ended_at: noon });
    const again = failed.when(
      { passMs: 5000 },
      resumes,
      starts("a", { flaw: { code: "INVALID_INPUT", message: "no" } }),
    );
    expect(row(again, "run", hireRun)).toMatchObject({ status: "failed", ended_at: later(5000) });
  });

  it("show the new end of a run that was resumed without a step to run", () => {
    const tool = { ...sendMail, compensates: true };
    const undone = given(accepts(plan(step("send", { tool })))).when(does("send"), undoes("send"), does("undo.send.1"));
    expect(row(undone, "run", hireRun)).toMatchObject({ status: "failed", ended_at: noon });
    const resumed = undone.when({ passMs: 5000 }, resumes);
    expect(row(resumed, "run", hireRun)).toMatchObject({ status: "failed", ended_at: later(5000) });
  });

  it("contain the due time of the run until it has ended", () => {
    const scenario = given(accepts(plan(send), { mode: "human_gated" }));
    expect(row(scenario, "timer", hireRun)).toMatchObject({ due_at: noon });
    const held = scenario.when(starts("send"));
    expect(row(held, "timer", hireRun)).toMatchObject({ due_at: held.gate("send").expires_at });
    expect(row(held.when(cancels), "timer", hireRun)).toBeNull();
  });

  it("record an act from its start to its receipt, one version at a time", () => {
    const started = given(accepts(plan(send))).when(starts("send"));
    const key = fakeKey("send");
    const owner = {
      key,
      generation: 1,
      tool: "mail.send",
      run_id: hireRun,
      origin: hireRun,
      step_id: "send",
      attempt: 1,
    };
    const call = { input_digest: fakeDigest({ to: "send" }), usable: true };
    expect(row(started, "ledger", key)).toEqual({ version: 1, ...owner, ...call, state: "started", receipt: null });
    const done = started.when(answers("send"));
    expect(row(done, "ledger", key)).toEqual({ version: 2, ...owner, ...call, state: "committed", receipt: 3 });
  });

  it("record a gate from its opening to its use, and ignore a refused decision", () => {
    const held = given(accepts(plan(send), { mode: "human_gated" })).when(starts("send"));
    const { gate_id, expires_at } = held.gate("send");
    const gate = { gate_id, run_id: hireRun, step_id: "send", tool: "mail.send", requester: "robin" };
    const call = { input_digest: fakeDigest({ to: "send" }), opened_at: noon, expires_at };
    expect(row(held, "gate", gate_id)).toEqual({ version: 1, ...gate, ...call, status: "open" });
    const contested = held.when(approves("send", { ...ana, kind: "agent" }));
    expect(row(contested, "gate", gate_id)).toMatchObject({ version: 1, status: "open" });
    const approved = contested.when(approves("send"));
    expect(row(approved, "gate", gate_id)).toMatchObject({ version: 2, status: "approved" });
    expect(row(approved.when(starts("send")), "gate", gate_id)).toMatchObject({ version: 3, status: "consumed" });
    expect(row(held.when(cancels), "gate", gate_id)).toMatchObject({ version: 2, status: "closed" });
  });

  it("contain a notice until it is delivered", () => {
    const notices = [{ notice_id: "n1", topic: "done", payload: null }];
    const scenario = given(accepts(plan(step("a")))).when(starts("a"), answers("a", null, { notices }));
    expect(row(scenario, "notice", "n1")).toEqual({ version: 0, notice_id: "n1", run_id: hireRun, position: 2 });
    expect(row(scenario, "timer", hireRun)).toEqual({ version: 0, due_at: null, needs: ["notice"] });
    const delivered = scenario.when(delivers("n1"));
    expect(row(delivered, "notice", "n1")).toBeNull();
    expect(row(delivered, "timer", hireRun)).toBeNull();
  });

  it("contain the position of an outcome and its reuse key", () => {
    const draft = step("a", { tool: readPage, outcome: { type: "draft.mail", status: "draft" } });
    const reuse = { key: fakeDigest("terms"), ttlMs: null };
    const scenario = given(accepts(plan(draft))).when(starts("a"), answers("a", null, { reuse }));
    const outcome = { outcome_id: "out_hire_a", type: "draft.mail", status: "draft", run_id: hireRun, step_id: "a" };
    expect(row(scenario, "outcome", "out_hire_a")).toEqual({
      version: 0,
      ...outcome,
      ...{ position: 2, tool: "page.read@1", at: noon, reuse_key: reuse.key, requester: "robin" },
    });
  });

  it("contain the outcome of an act that was settled as happened", () => {
    const mail = step("send", { tool: sendMail, outcome: { type: "mail.sent", status: "final" } });
    const scenario = given(accepts(plan(mail))).when(
      starts("send"),
      timesOut("send"),
      resolves("send", resolvedHappened(1)),
    );
    expect(row(scenario, "outcome", "out_hire_send")).toMatchObject({
      type: "mail.sent",
      status: "final",
      position: 4,
    });
    const absent = given(accepts(plan(mail))).when(
      starts("send"),
      timesOut("send"),
      resolves("send", { as: "absent" }),
    );
    expect(row(absent, "outcome", "out_hire_send")).toBeNull();
    const plain = given(accepts(plan(send))).when(
      starts("send"),
      timesOut("send"),
      resolves("send", resolvedHappened(1)),
    );
    expect(row(plain, "outcome", "out_hire_send")).toBeNull();
  });

  it("are byte for byte equal if computed per event, per decision or from the whole journal", () => {
    const choices = (minLength: number, maxLength: number): fc.Arbitrary<readonly RandomChoice[]> =>
      fc.array(fc.tuple(fc.nat(9999), fc.nat(9999)), { minLength, maxLength, size: "max" });
    fc.assert(
      fc.property(choices(5, 5), choices(1, 80), (made, list) => {
        const { rows, events: past } = driveRandomRun(randomPlan(made), list);
        let run = emptyRun(hireRun, acme);
        let folded: RowMap = new Map();
        for (const event of past) {
          const after = evolve(run, event);
          folded = applyEntry(folded, entryFor(run, [event], after));
          run = after;
        }
        assert.deepEqual(sorted(folded), sorted(rows));
        assert.deepEqual(sorted(applyPuts(historyRows(emptyRun(hireRun, acme), past))), sorted(rows));
      }),
      { numRuns: 40 },
    );
  });
});

const applyPuts = (puts: readonly Put[]): RowMap => {
  const rows = new Map<string, StoredRow>();
  for (const put of puts) {
    const { table, key, row } = put;
    if (row === null) rows.delete(rowMapKey(table, key));
    else rows.set(rowMapKey(table, key), { key, version: rowVersionAfter(put), row });
  }
  return rows;
};

const sorted = (rows: RowMap) => [...rows].sort(([left], [right]) => (left < right ? -1 : 1));
