import { describe, expect, it } from "vitest";
import type { Proposal } from "../../core/call/proposal.ts";
import type { Run } from "../../core/run/run.ts";
import { admissionFor } from "../../testing/given/admission.ts";
import { accepts } from "../../testing/given/commands.ts";
import { plan, readPage, sendMail, step } from "../../testing/given/fixtures.ts";
import { given } from "../../testing/given/given.ts";
import { repeatedActGuard } from "./repeated-act-guard.ts";

describe("an act in a fork", () => {
  const givenRun = given(accepts(plan(step("send", { tool: sendMail }), step("read", { tool: readPage }))));
  const forked = (acted: readonly string[]) => ({ run_id: "run_origin", acted }) as unknown as Run["forked"];

  /** Returns the verdict on a step of a run whose original has acted with these tools after the fork. */
  const verdict = (id: string, fork: Run["forked"], ledger: Proposal["ledger"] = null) => {
    const shown = admissionFor(givenRun, id, { ledger });
    return repeatedActGuard.judge({ ...shown, run: { ...shown.run, forked: fork } });
  };

  it("is held if its tool has acted since the fork and the ledger has no row for it", () => {
    expect(repeatedActGuard.id).toBe("fork_acts");
    expect(verdict("send", forked(["mail.draft", "mail.send"]))).toEqual({
      kind: "hold",
      rule: "fork_acts",
      reason: "mail.send has acted in run run_origin after the point of the fork",
      demand: { role: null },
    });
  });

  it("is allowed if the ledger has a row for it, which then decides", () => {
    const row = { version: 1 } as unknown as Proposal["ledger"];
    expect(verdict("send", forked(["mail.send"]), row).kind).toBe("allow");
  });

  it("is allowed if its tool has not acted since, or if the run is not a fork", () => {
    expect(verdict("send", forked([])).kind).toBe("allow");
    expect(verdict("send", forked(["mail.sender"])).kind).toBe("allow");
    expect(verdict("send", null).kind).toBe("allow");
  });

  it("is held only if it acts", () => {
    expect(verdict("read", forked(["page.read", "mail.send", readPage.name])).kind).toBe("allow");
  });
});
