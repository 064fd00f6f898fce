import { describe, expect, it } from "vitest";
import { countedWork } from "../../tests/counted-work.ts";
import {
  acme,
  addUp,
  hire,
  keepNote,
  ledgerFact,
  noon,
  order,
  plan,
  readPage,
  sendMail,
  step,
} from "../testing/given/cast.ts";
import {
  accepts,
  answers,
  cancels,
  does,
  fails,
  goesUnheard,
  happened,
  misshapen,
  rejects,
  resolves,
  saysNotDone,
  starts,
  undoes,
} from "../testing/given/moves.ts";
import { given, type Told } from "../testing/given.ts";
import type { World } from "./effect.ts";
import type { Event } from "./event.ts";
import { evolveGate } from "./evolve/gate.ts";
import { evolve, fold } from "./evolve.ts";
import type { Digest } from "./id.ts";
import { unbornRun } from "./run.ts";

const acting = given(accepts(plan(step("do", { tool: { ...sendMail, compensates: true } })))).when(starts("do"));
const other = (tool: typeof addUp) => given(accepts(plan(step("do", { tool })))).when(starts("do"));

describe("what a step meant to the world", () => {
  const meanings: readonly (readonly [World | null, string, Told])[] = [
    ["pure", "something pure succeeded", other(addUp).when(answers("do"))],
    ["pure", "something was read", other(readPage).when(answers("do"))],
    ["state_changed", "something was written", other(keepNote).when(answers("do"))],
    ["side_effect_committed", "an act succeeded", acting.when(answers("do"))],
    ["side_effect_committed", "an act in doubt happened", acting.when(goesUnheard("do"), resolves("do", happened(1)))],
    ["retryable_failure", "it failed and will be tried again", other(addUp).when(fails("do", "RATE_LIMIT"))],
    ["retryable_failure", "an act did nothing and will be tried again", acting.when(saysNotDone("do", "RATE_LIMIT"))],
    ["permanent_failure", "it failed for good", other(addUp).when(fails("do"))],
    ["permanent_failure", "an act did nothing, for good", acting.when(saysNotDone("do"))],
    ["permanent_failure", "an act was given up", acting.when(goesUnheard("do"), resolves("do", { as: "give_up" }))],
    ["permanent_failure", "it was refused", other(addUp).when(starts("do", { flaw: misshapen }))],
    ["compensatable_failure", "an act answered badly", acting.when(answers("do", 1, { flaw: misshapen }))],
    ["in_doubt", "an act is in doubt", acting.when(goesUnheard("do"))],
    ["compensated", "an act was undone", acting.when(answers("do"), undoes("do"), does("undo.do.1"))],
    [null, "nothing has happened yet", given(accepts(plan(step("do"))))],
    [null, "an act was found absent", acting.when(cancels, goesUnheard("do"), resolves("do", { as: "absent" }))],
  ];

  it.each(meanings)("is %s when %s", (world, _, told) => {
    expect(told.step("do").world).toBe(world);
  });

  it("is permanent_failure when a person said no", () => {
    const held = given(accepts(plan(step("do", { gate: "human_confirm" })))).when(starts("do"));
    expect(held.step("do").world).toBeNull();
    expect(held.when(rejects("do")).step("do").world).toBe("permanent_failure");
  });

  it("is side_effect_committed for an act that another run did", () => {
    const send = step("send", { tool: { ...sendMail, onDuplicate: "reuse" } });
    const told = given(accepts(plan(send)))
      .hearing(ledgerFact())
      .when(starts("send"));
    expect(told.step("send")).toMatchObject({
      world: "side_effect_committed",
      act: null,
      standing: { reused: { run: order } },
    });
  });

  it("keeps a committed act from ever being started again", () => {
    const done = acting.when(answers("do"));
    expect(done.when(starts("do")).news).toEqual([]);
    expect(done.when(undoes("do"), does("undo.do.1")).when(starts("do")).news).toEqual([]);
  });
});

describe("folding", () => {
  it("pins each step to the tool that the run was accepted with", () => {
    const pin = { version: "2", schema_hash: "h" as Digest };
    const told = given(accepts(plan(step("a"), step("b", { tool: readPage })), { tools: { [addUp.name]: pin } }));
    expect(told.step("a").pin).toEqual(pin);
    expect(told.step("b").pin).toBeNull();
  });

  it("counts every event, and gives the same run for the same events", () => {
    const told = acting.when(answers("do"));
    expect(told.run.position).toBe(told.past.length);
    expect(fold(unbornRun(hire, acme), told.past)).toEqual(told.run);
  });

  it("leaves the run before it as it was", () => {
    const before = given(accepts(plan(step("a"))));
    const text = JSON.stringify([...before.run.steps]);
    before.when(does("a"));
    expect(JSON.stringify([...before.run.steps])).toBe(text);
  });
});

describe("what cannot have happened", () => {
  const ready = given(accepts(plan(step("do", { tool: sendMail })))).run;
  const ledger = { version: 2, generation: 1 };
  const head = { at: noon, step_id: "do" };

  it.each([
    ["an act is probed that is not in doubt", { type: "step.probed", saw: "absent", why: "", next_at: null }],
    ["an act is sent again that is not in doubt", { type: "step.settled", settled: { as: "resend" }, ledger: null }],
    ["an act is settled that was never started", { type: "step.settled", settled: { as: "absent" }, ledger }],
    ["an act is settled without its row", { type: "step.settled", settled: { as: "absent" }, ledger: null }],
    ["something is undone that never acted", { type: "step.compensating", by: "ana", reason: "", ledger }],
    ["something is doubted that never acted", { type: "step.doubted", attempt: 1, exits: {}, ledger }],
    ["a step gets the name of another", { type: "step.proposed", step: { step_id: "do" }, cause: { by: "agent" } }],
    ["something happens that nobody has heard of", { type: "step.dreamed" }],
  ])("is that %s", (_, event) => {
    expect(() => evolve(ready, { ...head, ...event } as unknown as Event)).toThrow(/invariant broken|unhandled/);
  });

  it("is that something happens to a gate that nobody has heard of", () => {
    const { run } = given(accepts(plan(step("do", { gate: "human_confirm" })))).when(starts("do"));
    const event = { type: "gate.dreamed", at: noon, gate_id: [...run.gates][0]?.[0] } as unknown as Event;
    expect(() => evolveGate({ ...run, fresh: [] }, event as Parameters<typeof evolveGate>[1])).toThrow(
      "unhandled variant",
    );
  });
});

describe("a step that many have waited for", () => {
  const released = (count: number) => {
    const waiting = Array.from({ length: count }, (_, at) => step(`then-${at}`, { after: ["first"] }));
    const { run, past } = given(accepts(plan(step("first"), ...waiting))).when(starts("first"), answers("first"));
    return { after: run, work: countedWork(() => fold(unbornRun(hire, acme), past)) };
  };

  it("makes all of them ready at once, with work that grows as they do", () => {
    const [few, many] = [released(100), released(1000)];
    expect(many.after.fresh).toEqual(Array.from({ length: 1000 }, (_, at) => at + 1));
    expect(many.work / few.work).toBeLessThan(30); // The nodes of a vector fill up on the way; a square is beyond fifty.
  });
});
