import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countedWork } from "../../tests/counted-work.ts";
import { standingGuards } from "../policy/guards.ts";
import {
  acme,
  ana,
  digestOf,
  hire,
  keyOf,
  later,
  noon,
  plan,
  readPage,
  sendMail,
  step,
} from "../testing/given/cast.ts";
import {
  accepts,
  answers,
  approves,
  cancels,
  delivers,
  does,
  goesUnheard,
  happened,
  resolves,
  resumes,
  starts,
  undoes,
} from "../testing/given/moves.ts";
import { anyPlan, type Choice, wander } from "../testing/given/wander.ts";
import { entryOf, given, type Shelf, shelfKey, type Told, written } from "../testing/given.ts";
import { decide } from "./decide.ts";
import { evolve } from "./evolve.ts";
import { versionAfter } from "./judge.ts";
import type { Table } from "./rows.ts";
import { requestKey, rowsOf, rowsOfHistory } from "./rows-of.ts";
import { unbornRun } from "./run.ts";
import type { Put, StoredRow } from "./store.ts";

const row = ({ rows }: Told, table: Table, key: string): unknown => {
  const stored = rows.get(shelfKey(table, key));
  return stored === undefined ? null : { version: stored.version, ...JSON.parse(stored.row) };
};

describe("deciding one of many that wait", () => {
  const work = (count: number) => {
    const ids = Array.from({ length: count }, (_, at) => `send-${at}`);
    const steps = ids.map((id) => step(id, { tool: sendMail }));
    const told = given(accepts(plan(...steps), { mode: "human_gated" })).when(...ids.map((id) => starts(id)));
    const command = approves("send-7")(told);
    return countedWork(() => {
      const { events, after } = decide(told.run, command, standingGuards);
      rowsOf(told.run, events, after);
    });
  };

  it("takes no more work for those that go on waiting", () => {
    const [few, many] = [work(40), work(400)];
    expect(many / few).toBeLessThan(2); // Ways down grow by a step or two; whoever walks past all of them is beyond eight.
  });
});

describe("the rows of a run", () => {
  const send = step("send", { tool: sendMail });

  it("say which run answers a request, once", () => {
    const request = { key: "welcome ana", digest: digestOf("the plan") };
    const told = given(accepts(plan(send), { request }));
    expect(row(told, "request", requestKey("robin", "welcome ana"))).toEqual({
      version: 1,
      run_id: hire,
      digest: request.digest,
    });
    const twice = entryOf(unbornRun(hire, acme), told.past, told.run);
    expect(() => written(told.rows, twice)).toThrow();
  });

  it("say nothing of a request where there is none", () => {
    expect([...given(accepts(plan(send))).rows.keys()]).toEqual([`run ${hire}`, `timer ${hire}`]);
  });

  it("give no two requests the same key", () => {
    expect(requestKey("a", "bc")).not.toBe(requestKey("ab", "c"));
    expect(requestKey("1:a", "b")).not.toBe(requestKey("1", ":ab"));
  });

  it("show how the run stands, and are left alone while that does not change", () => {
    const told = given(accepts(plan(step("a"), step("b"))));
    const running = { run_id: hire, origin: hire, status: "running", final: false, mode: "auto_exec" };
    const whose = { principal: "robin", plan_id: "plan_1", accepted_at: noon, ended_at: null };
    expect(row(told, "run", hire)).toEqual({ version: 0, ...running, ...whose });
    const before = told.when(starts("a"));
    const after = before.when(answers("a"));
    expect(entryOf(before.run, after.news, after.run).puts).toEqual([]);
  });

  it("show when the run ended, each time it does", () => {
    const failed = given(accepts(plan(step("a")))).when(
      starts("a", { flaw: { code: "INVALID_INPUT", message: "no" } }),
    );
    expect(row(failed, "run", hire)).toMatchObject({ status: "failed", final: true, ended_at: noon });
    const again = failed.when(
      { passMs: 5000 },
      resumes,
      starts("a", { flaw: { code: "INVALID_INPUT", message: "no" } }),
    );
    expect(row(again, "run", hire)).toMatchObject({ status: "failed", ended_at: later(5000) });
  });

  it("show the end of a run that was resumed for nothing", () => {
    const tool = { ...sendMail, compensates: true };
    const undone = given(accepts(plan(step("send", { tool })))).when(does("send"), undoes("send"), does("undo.send.1"));
    expect(row(undone, "run", hire)).toMatchObject({ status: "failed", ended_at: noon });
    const resumed = undone.when({ passMs: 5000 }, resumes);
    expect(row(resumed, "run", hire)).toMatchObject({ status: "failed", ended_at: later(5000) });
  });

  it("say when the run can move by itself, and nothing once it has ended", () => {
    const told = given(accepts(plan(send), { mode: "human_gated" }));
    expect(row(told, "timer", hire)).toMatchObject({ due_at: noon });
    const held = told.when(starts("send"));
    expect(row(held, "timer", hire)).toMatchObject({ due_at: held.gate("send").expires_at });
    expect(row(held.when(cancels), "timer", hire)).toBeNull();
  });

  it("follow an act from its start to its receipt, one version at a time", () => {
    const started = given(accepts(plan(send))).when(starts("send"));
    const key = keyOf("send");
    const owner = { key, generation: 1, tool: "mail.send", run_id: hire, origin: hire, step_id: "send", attempt: 1 };
    const call = { input_digest: digestOf({ to: "send" }), usable: true };
    expect(row(started, "ledger", key)).toEqual({ version: 1, ...owner, ...call, state: "started", receipt: null });
    const done = started.when(answers("send"));
    expect(row(done, "ledger", key)).toEqual({ version: 2, ...owner, ...call, state: "committed", receipt: 3 });
  });

  it("follow a gate from its opening to its use, and are not moved by someone who may not decide", () => {
    const held = given(accepts(plan(send), { mode: "human_gated" })).when(starts("send"));
    const { gate_id, expires_at } = held.gate("send");
    const gate = { gate_id, run_id: hire, step_id: "send", tool: "mail.send", requester: "robin" };
    const call = { input_digest: digestOf({ to: "send" }), opened_at: noon, expires_at };
    expect(row(held, "gate", gate_id)).toEqual({ version: 1, ...gate, ...call, status: "open" });
    const contested = held.when(approves("send", { ...ana, kind: "agent" }));
    expect(row(contested, "gate", gate_id)).toMatchObject({ version: 1, status: "open" });
    const approved = contested.when(approves("send"));
    expect(row(approved, "gate", gate_id)).toMatchObject({ version: 2, status: "approved" });
    expect(row(approved.when(starts("send")), "gate", gate_id)).toMatchObject({ version: 3, status: "consumed" });
    expect(row(held.when(cancels), "gate", gate_id)).toMatchObject({ version: 2, status: "closed" });
  });

  it("keep a message until it is delivered", () => {
    const notices = [{ notice_id: "n1", topic: "done", payload: null }];
    const told = given(accepts(plan(step("a")))).when(starts("a"), answers("a", null, { notices }));
    expect(row(told, "notice", "n1")).toEqual({ version: 0, notice_id: "n1", run_id: hire, position: 2 });
    expect(row(told, "timer", hire)).toEqual({ version: 0, due_at: null, needs: ["notice"] });
    const delivered = told.when(delivers("n1"));
    expect(row(delivered, "notice", "n1")).toBeNull();
    expect(row(delivered, "timer", hire)).toBeNull();
  });

  it("say where an outcome is and who may share it", () => {
    const draft = step("a", { tool: readPage, outcome: { type: "draft.mail", status: "draft" } });
    const reuse = { key: digestOf("terms"), ttlMs: null };
    const told = given(accepts(plan(draft))).when(starts("a"), answers("a", null, { reuse }));
    const outcome = { outcome_id: "out_hire_a", type: "draft.mail", status: "draft", run_id: hire, step_id: "a" };
    expect(row(told, "outcome", "out_hire_a")).toEqual({
      version: 0,
      ...outcome,
      ...{ position: 2, tool: "page.read@1", at: noon, reuse_key: reuse.key },
    });
  });

  it("say where an outcome is that only settling a doubt brought", () => {
    const mail = step("send", { tool: sendMail, outcome: { type: "mail.sent", status: "final" } });
    const told = given(accepts(plan(mail))).when(starts("send"), goesUnheard("send"), resolves("send", happened(1)));
    expect(row(told, "outcome", "out_hire_send")).toMatchObject({ type: "mail.sent", status: "final", position: 4 });
    const absent = given(accepts(plan(mail))).when(
      starts("send"),
      goesUnheard("send"),
      resolves("send", { as: "absent" }),
    );
    expect(row(absent, "outcome", "out_hire_send")).toBeNull();
    const plain = given(accepts(plan(send))).when(starts("send"), goesUnheard("send"), resolves("send", happened(1)));
    expect(row(plain, "outcome", "out_hire_send")).toBeNull();
  });

  it("are the same to the last byte whether they follow event by event, decision by decision or from all of it", () => {
    const choices = (minLength: number, maxLength: number): fc.Arbitrary<readonly Choice[]> =>
      fc.array(fc.tuple(fc.nat(9999), fc.nat(9999)), { minLength, maxLength, size: "max" });
    fc.assert(
      fc.property(choices(5, 5), choices(1, 80), (made, list) => {
        const { rows, past } = wander(anyPlan(made), list);
        let run = unbornRun(hire, acme);
        let shelf: Shelf = new Map();
        for (const event of past) {
          const after = evolve(run, event);
          shelf = written(shelf, entryOf(run, [event], after));
          run = after;
        }
        assert.deepEqual(sorted(shelf), sorted(rows));
        assert.deepEqual(sorted(left(rowsOfHistory(unbornRun(hire, acme), past))), sorted(rows));
      }),
      { numRuns: 40 },
    );
  });
});

/** What is there after one put after the other. */
const left = (puts: readonly Put[]): Shelf => {
  const shelf = new Map<string, StoredRow>();
  for (const put of puts) {
    const { table, key, row } = put;
    if (row === null) shelf.delete(shelfKey(table, key));
    else shelf.set(shelfKey(table, key), { key, version: versionAfter(put), row });
  }
  return shelf;
};

const sorted = (shelf: Shelf) => [...shelf].sort(([left], [right]) => (left < right ? -1 : 1));
