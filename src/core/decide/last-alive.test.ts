import { describe, expect, it } from "vitest";
import { later, plan, sendMail, step } from "../../testing/given/cast.ts";
import { accepts, goesUnheard, recovers, starts } from "../../testing/given/moves.ts";
import { given, pass } from "../../testing/given.ts";

const looks = { ...sendMail, verifies: true };
const unheard = given(accepts(plan(step("send", { tool: looks })))).when(starts("send"), goesUnheard("send"));

describe("doubting an act whose handler was not heard of", () => {
  it("begins when it was given up on, and anew when it is known to have left", () => {
    expect(unheard.standing("send")).toMatchObject({ doubt: { alive: true, exits: { quiet_at: later(90_000) } } });
    const left = unheard.when(pass(500_000), goesUnheard("send"));
    expect(left.standing("send")).toMatchObject({ doubt: { alive: false, exits: { quiet_at: later(590_000) } } });
    expect(left.when(goesUnheard("send")).standing("send")).toMatchObject({ doubt: { alive: false } });
  });

  it("begins anew when it died with its worker, once", () => {
    const died = unheard.when(pass(200_000), recovers({ id: "send", tool: looks }));
    expect(died.standing("send")).toMatchObject({ doubt: { alive: false, exits: { quiet_at: later(290_000) } } });
    expect(died.when(recovers({ id: "send", tool: looks })).news).toEqual([]);
  });

  it("begins anew when a tool is there that can look", () => {
    const blind = given(accepts(plan(step("send", { tool: sendMail })))).when(
      starts("send"),
      recovers({ id: "send", tool: null }),
    );
    expect(blind.standing("send")).toMatchObject({ doubt: { next: { do: "ask" } } });
    expect(blind.when(recovers({ id: "send", tool: null })).news).toEqual([]);
    expect(blind.when(recovers({ id: "send", tool: looks })).standing("send")).toMatchObject({
      doubt: { next: { do: "settle" } },
    });
  });
});
