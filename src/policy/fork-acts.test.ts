import { describe, expect, it } from "vitest";
import type { Proposal } from "../core/proposal.ts";
import type { Run } from "../core/run.ts";
import { admission } from "../testing/given/admission.ts";
import { plan, readPage, sendMail, step } from "../testing/given/cast.ts";
import { accepts } from "../testing/given/moves.ts";
import { given } from "../testing/given.ts";
import { forkActs } from "./fork-acts.ts";

describe("an act in a fork", () => {
  const told = given(accepts(plan(step("send", { tool: sendMail }), step("read", { tool: readPage }))));
  const forked = (acted: readonly string[]) => ({ run_id: "run_origin", acted }) as unknown as Run["forked"];

  /** What is said of a step whose origin has acted with these tools after the fork. */
  const verdict = (id: string, fork: Run["forked"], ledger: Proposal["ledger"] = null) => {
    const shown = admission(told, id, { ledger });
    return forkActs.judge({ ...shown, run: { ...shown.run, forked: fork } });
  };

  it("is held if its tool has acted since, and the ledger does not know it", () => {
    expect(forkActs.id).toBe("fork_acts");
    expect(verdict("send", forked(["mail.draft", "mail.send"]))).toEqual({
      kind: "hold",
      rule: "fork_acts",
      reason: "mail.send has acted in run run_origin after the point that this one was forked from",
      demand: { role: null },
    });
  });

  it("goes on if the ledger knows it: whether it is the same is told there", () => {
    const row = { version: 1 } as unknown as Proposal["ledger"];
    expect(verdict("send", forked(["mail.send"]), row).kind).toBe("allow");
  });

  it("goes on if its tool has not acted since, or in a run that is no fork", () => {
    expect(verdict("send", forked([])).kind).toBe("allow");
    expect(verdict("send", forked(["mail.sender"])).kind).toBe("allow");
    expect(verdict("send", null).kind).toBe("allow");
  });

  it("is the only thing that is held: what does not act is recomputed or recorded", () => {
    expect(verdict("read", forked(["page.read", "mail.send", readPage.name])).kind).toBe("allow");
  });
});
