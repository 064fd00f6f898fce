import { describe, expect, it } from "vitest";
import { bob, digestOf, keyOf, ledgerFact, plan } from "../../testing/given/cast.ts";
import { asked, demanding, held, send } from "../../testing/given/gated.ts";
import {
  accepts,
  answers,
  approves,
  does,
  goesUnheard,
  resolves,
  resumes,
  saysNotDone,
  starts,
} from "../../testing/given/moves.ts";
import { given, pass } from "../../testing/given.ts";
import type { Demand } from "../demand.ts";
import { fault } from "../fault.ts";
import type { Guard } from "../guard.ts";

const hour = 60 * 60 * 1000;
const day = 24 * hour;

describe("standing on an approval", () => {
  const approved = held.when(approves("send"));

  it("consumes it in the first start", () => {
    const told = approved.when(starts("send"));
    expect(told.said("step.started").gate).toEqual({ gate_id: "gate_1", version: 3 });
    expect(told.gate("send").status).toBe("consumed");
  });

  it("is good for further attempts of the same call, within its time", () => {
    const failed = approved.when(starts("send"), saysNotDone("send", "RATE_LIMIT"));
    const again = failed.when(pass(9000), starts("send"));
    expect(again.said("step.started")).toMatchObject({ attempt: 2, gate: null, ledger: { version: 3, generation: 1 } });
    const late = failed.when(pass(day + 1), starts("send"));
    expect(late.types).toEqual(["gate.opened"]);
    expect(late.when(approves("send"), starts("send")).said("step.started").attempt).toBe(2);
  });

  it("is good for an attempt after the act was found absent", () => {
    const doubted = approved.when(starts("send"), goesUnheard("send"), resolves("send", { as: "absent" }));
    expect(doubted.when(starts("send")).types).toEqual(["step.started"]);
  });

  it("is good at its last moment and no longer", () => {
    expect(approved.when(pass(day), starts("send")).types).toEqual(["step.started"]);
    expect(approved.when(pass(day + 1), starts("send")).types).toEqual(["gate.opened"]);
  });

  it("is good for these very bytes only", () => {
    const other = {
      input: { to: "eve" },
      digest: digestOf({ to: "eve" }),
      key: keyOf("send"),
      keyed_by: "input",
    } as const;
    expect(approved.when(starts("send", { call: other })).said("gate.opened").call).toEqual(other);
  });

  it("is good for a demand that became milder, and not for one that became stricter", () => {
    const strict = approved.under(demanding({ role: "cfo" })).when(starts("send"));
    expect(strict.said("gate.opened").demand).toEqual({ role: "cfo" });
    const cfo = asked.under(demanding({ role: "cfo" })).when(starts("send"), approves("send", bob));
    expect(cfo.when(starts("send")).types).toEqual(["step.started"]);
    let mood: Demand = { role: "cfo" };
    const moody: Guard = { id: "moody", judge: (admission) => demanding(mood).judge(admission) };
    const told = asked.under(moody).when(starts("send"), approves("send", bob));
    mood = { role: null };
    expect(told.when(starts("send")).types).toEqual(["step.started"]);
  });

  it("is consumed even if nobody asks for it any more", () => {
    let mood: Demand | null = { role: null };
    const moody: Guard = { id: "moody", judge: (admission) => demanding(mood).judge(admission) };
    const told = given(accepts(plan(send)))
      .under(moody)
      .when(starts("send"), approves("send"));
    mood = null;
    expect(told.when(starts("send")).gate("send").status).toBe("consumed");
  });

  it("survives a resume with the same call, and only with it", () => {
    const flaw = fault("INVALID_INPUT", "no");
    const resumed = approved.when(starts("send", { flaw }), resumes);
    expect(resumed.step("send").call).toBeNull();
    expect(resumed.when(starts("send")).types).toEqual(["step.started"]);
    expect(
      resumed.when(starts("send", { call: { ...approved.gate("send").call, digest: digestOf("x") } })).types,
    ).toEqual(["gate.opened"]);
  });

  it("authorises a call and never replaces its result", () => {
    expect(approved.when(starts("send"), answers("send", { id: 5 })).standing("send")).toMatchObject({
      output: { id: 5 },
    });
  });
});

describe("a gate about a repetition", () => {
  it("asks for the role that the guards ask for, so that one yes does for both", () => {
    const told = asked
      .under(demanding({ role: "cfo" }))
      .hearing(ledgerFact())
      .when(starts("send"));
    expect(told.said("gate.opened")).toMatchObject({ rule: "ledger", demand: { role: "cfo" } });
    expect(told.when(approves("send", bob), starts("send")).types).toEqual(["gate.approved", "step.started"]);
  });

  it("is shown again, with what it repeats, to someone whom a policy asks for meanwhile", () => {
    const told = given(accepts(plan(send)))
      .hearing(ledgerFact())
      .when(starts("send"), approves("send"));
    const strict = told.under(demanding({ role: "cfo" })).when(starts("send"));
    expect(strict.said("gate.opened")).toMatchObject({ demand: { role: "cfo" }, duplicate_of: { generation: 1 } });
    const again = strict.when(approves("send", bob), starts("send"));
    expect(again.said("step.started").ledger).toEqual({ version: 6, generation: 2 });
  });

  it("lets a retry stand on it at the same generation", () => {
    const told = given(accepts(plan(send), { mode: "human_gated" }))
      .hearing(ledgerFact())
      .when(starts("send"), approves("send"));
    const failed = told.when(starts("send"), saysNotDone("send", "RATE_LIMIT"), pass(9000), starts("send"));
    expect(failed.news.at(-1)).toMatchObject({
      type: "step.started",
      ledger: { version: 8, generation: 2 },
      gate: null,
    });
  });

  it("means nothing to a step that was answered from its lineage before", () => {
    expect(held.when(approves("send"), does("send")).states).toMatchObject({ send: "succeeded" });
  });
});
