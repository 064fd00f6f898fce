import { describe, expect, it } from "vitest";
import { accepts, recovers, starts, timesOut } from "../../testing/given/commands.ts";
import { later, plan, sendMail, step } from "../../testing/given/fixtures.ts";
import { given, pass } from "../../testing/given/given.ts";

const verifiable = { ...sendMail, verifies: true };
const unheard = given(accepts(plan(step("send", { tool: verifiable })))).when(starts("send"), timesOut("send"));

describe("the quiet time of an act whose handler did not return", () => {
  it("begins with the doubt, and again when the handler returns", () => {
    expect(unheard.standing("send")).toMatchObject({ doubt: { alive: true, exits: { quiet_at: later(90_000) } } });
    const left = unheard.when(pass(500_000), timesOut("send"));
    expect(left.standing("send")).toMatchObject({ doubt: { alive: false, exits: { quiet_at: later(590_000) } } });
    expect(left.when(timesOut("send")).standing("send")).toMatchObject({ doubt: { alive: false } });
  });

  it("begins again once after its worker died", () => {
    const died = unheard.when(pass(200_000), recovers({ id: "send", tool: verifiable }));
    expect(died.standing("send")).toMatchObject({ doubt: { alive: false, exits: { quiet_at: later(290_000) } } });
    expect(died.when(recovers({ id: "send", tool: verifiable })).newEvents).toEqual([]);
  });

  it("begins again when a worker has a verifier", () => {
    const blind = given(accepts(plan(step("send", { tool: sendMail })))).when(
      starts("send"),
      recovers({ id: "send", tool: null }),
    );
    expect(blind.standing("send")).toMatchObject({ doubt: { next: { do: "ask" } } });
    expect(blind.when(recovers({ id: "send", tool: null })).newEvents).toEqual([]);
    expect(blind.when(recovers({ id: "send", tool: verifiable })).standing("send")).toMatchObject({
      doubt: { next: { do: "settle" } },
    });
  });
});
