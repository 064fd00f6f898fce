import { describe, expect, it } from "vitest";
import { countOperations } from "../../../tests/core/operation-count.ts";
import {
  accepts,
  answers,
  cancels,
  does,
  fails,
  invalidOutput,
  rejects,
  resolvedHappened,
  resolves,
  saysNotDone,
  starts,
  timesOut,
  undoes,
} from "../../testing/given/commands.ts";
import {
  acme,
  addUp,
  hireRun,
  keepNote,
  ledgerFact,
  noon,
  orderRun,
  plan,
  readPage,
  sendMail,
  step,
} from "../../testing/given/fixtures.ts";
import { type GivenRun, given } from "../../testing/given/given.ts";
import type { Event } from "../event/event.ts";
import { emptyRun } from "../run/run.ts";
import type { WorldOutcome } from "../values/effect.ts";
import type { Digest } from "../values/ids.ts";
import { evolve, foldEvents } from "./evolve.ts";
import { evolveGate } from "./evolve-gate.ts";

const acting = given(accepts(plan(step("do", { tool: { ...sendMail, compensates: true } })))).when(starts("do"));
const other = (tool: typeof addUp) => given(accepts(plan(step("do", { tool })))).when(starts("do"));

describe("the world outcome of a step", () => {
  const meanings: readonly (readonly [WorldOutcome | null, string, GivenRun])[] = [
    ["pure", "a pure call succeeded", other(addUp).when(answers("do"))],
    ["pure", "a read succeeded", other(readPage).when(answers("do"))],
    ["state_changed", "a write succeeded", other(keepNote).when(answers("do"))],
    ["side_effect_committed", "an act succeeded", acting.when(answers("do"))],
    [
      "side_effect_committed",
      "an act in doubt was settled as happened",
      acting.when(timesOut("do"), resolves("do", resolvedHappened(1))),
    ],
    ["retryable_failure", "a call failed and will be retried", other(addUp).when(fails("do", "RATE_LIMIT"))],
    ["retryable_failure", "an act did nothing and will be retried", acting.when(saysNotDone("do", "RATE_LIMIT"))],
    ["permanent_failure", "a call failed finally", other(addUp).when(fails("do"))],
    ["permanent_failure", "an act did nothing and is not retried", acting.when(saysNotDone("do"))],
    ["permanent_failure", "an act was given up", acting.when(timesOut("do"), resolves("do", { as: "give_up" }))],
    ["permanent_failure", "a guard refused the call", other(addUp).when(starts("do", { flaw: invalidOutput }))],
    [
      "compensatable_failure",
      "an act returned an invalid output",
      acting.when(answers("do", 1, { flaw: invalidOutput })),
    ],
    ["in_doubt", "an act is in doubt", acting.when(timesOut("do"))],
    ["compensated", "an act was undone", acting.when(answers("do"), undoes("do"), does("undo.do.1"))],
    [null, "nothing has happened yet", given(accepts(plan(step("do"))))],
    [null, "an act was found absent", acting.when(cancels, timesOut("do"), resolves("do", { as: "absent" }))],
  ];

  it.each(meanings)("is %s when %s", (world, _, scenario) => {
    expect(scenario.step("do").world).toBe(world);
  });

  it("is permanent_failure when a person rejected the call", () => {
    const held = given(accepts(plan(step("do", { gate: "human_confirm" })))).when(starts("do"));
    expect(held.step("do").world).toBeNull();
    expect(held.when(rejects("do")).step("do").world).toBe("permanent_failure");
  });

  it("is side_effect_committed for a reused act of another run", () => {
    const send = step("send", { tool: { ...sendMail, onDuplicate: "reuse" } });
    const scenario = given(accepts(plan(send)))
      .withLedgerFact(ledgerFact())
      .when(starts("send"));
    expect(scenario.step("send")).toMatchObject({
      world: "side_effect_committed",
      act: null,
      standing: { reused: { run: orderRun } },
    });
  });

  it("prevents a second start of a committed act", () => {
    const done = acting.when(answers("do"));
    expect(done.when(starts("do")).newEvents).toEqual([]);
    expect(done.when(undoes("do"), does("undo.do.1")).when(starts("do")).newEvents).toEqual([]);
  });
});

describe("evolve", () => {
  it("pins each step to the tool that the run was accepted with", () => {
    const pin = { version: "2", schema_hash: "h" as Digest };
    const scenario = given(accepts(plan(step("a"), step("b", { tool: readPage })), { tools: { [addUp.name]: pin } }));
    expect(scenario.step("a").pin).toEqual(pin);
    expect(scenario.step("b").pin).toBeNull();
  });

  it("counts every event, and returns the same run for the same events", () => {
    const scenario = acting.when(answers("do"));
    expect(scenario.run.position).toBe(scenario.events.length);
    expect(foldEvents(emptyRun(hireRun, acme), scenario.events)).toEqual(scenario.run);
  });

  it("does not change the run that it is given", () => {
    const before = given(accepts(plan(step("a"))));
    const text = JSON.stringify([...before.run.steps]);
    before.when(does("a"));
    expect(JSON.stringify([...before.run.steps])).toBe(text);
  });
});

describe("an impossible event", () => {
  const ready = given(accepts(plan(step("do", { tool: sendMail })))).run;
  const ledger = { version: 2, generation: 1 };
  const head = { at: noon, step_id: "do" };

  it.each([
    ["probes an act that is not in doubt", { type: "step.probed", saw: "absent", why: "", next_at: null }],
    ["resends an act that is not in doubt", { type: "step.settled", settled: { as: "resend" }, ledger: null }],
    ["settles an act that was never started", { type: "step.settled", settled: { as: "absent" }, ledger }],
    ["settles an act without its ledger row", { type: "step.settled", settled: { as: "absent" }, ledger: null }],
    ["undoes a step that never acted", { type: "step.compensating", by: "ana", reason: "", ledger }],
    ["doubts a step that never acted", { type: "step.doubted", attempt: 1, exits: {}, ledger }],
    [
      "proposes a step with the id of another step",
      { type: "step.proposed", step: { step_id: "do" }, cause: { by: "agent" } },
    ],
    ["has an unknown type", { type: "step.dreamed" }],
  ])("fails an assertion if it %s", (_, event) => {
    expect(() => evolve(ready, { ...head, ...event } as unknown as Event)).toThrow(/invariant broken|unhandled/);
  });

  it("fails an assertion if it is an unknown event of a gate", () => {
    const { run } = given(accepts(plan(step("do", { gate: "human_confirm" })))).when(starts("do"));
    const event = { type: "gate.dreamed", at: noon, gate_id: [...run.gates][0]?.[0] } as unknown as Event;
    expect(() => evolveGate({ ...run, fresh: [] }, event as Parameters<typeof evolveGate>[1])).toThrow(
      "unhandled variant",
    );
  });
});

describe("a step with many dependents", () => {
  const released = (count: number) => {
    const waiting = Array.from({ length: count }, (_, at) => step(`then-${at}`, { after: ["first"] }));
    const { run, events: past } = given(accepts(plan(step("first"), ...waiting))).when(
      starts("first"),
      answers("first"),
    );
    return { after: run, work: countOperations(() => foldEvents(emptyRun(hireRun, acme), past)) };
  };

  it("makes all of them ready at once, with work proportional to their number", () => {
    const [few, many] = [released(100), released(1000)];
    expect(many.after.fresh).toEqual(Array.from({ length: 1000 }, (_, at) => at + 1));
    expect(many.work / few.work).toBeLessThan(30); // Linear work plus vector growth. Quadratic work would exceed fifty.
  });
});
