import { describe, expect, it } from "vitest";
import { accepts, answers, approves, does, rejects, starts, undoes } from "../../../src/testing/given/commands.ts";
import { plan, readPage, sendMail, step } from "../../../src/testing/given/fixtures.ts";
import { type GivenAction, given } from "../../../src/testing/given/given.ts";
import { blastRadius } from "./blast-radius.ts";
import { RunView } from "./run-view.ts";
import { stepStages } from "./step-stages.ts";

const undoable = { ...sendMail, compensates: true };
const planned = plan(
  step("read", { tool: readPage }),
  step("send", { tool: undoable }),
  step("log", { after: ["send"] }),
);

function viewAfter(mode: "auto_exec" | "human_gated", ...moves: readonly GivenAction[]): RunView {
  const { events } = given(accepts(planned, { mode })).when(...moves);
  const view = new RunView("run_hire");
  for (const [at, event] of events.entries()) view.add({ position: at + 1, event });
  return view;
}

function stagesOf(view: RunView, id: string): string {
  const index = view.find(id) ?? -1;
  return stepStages(view.step(index), view.history(index), () => false)
    .map(({ name, outcome }) => `${name}: ${outcome}`)
    .join(", ");
}

describe("the stages of a call", () => {
  it.each<[string, readonly GivenAction[], string]>([
    ["is held", [starts("send")], "propose: passed, admit: now, acquire: not reached"],
    ["is rejected", [starts("send"), rejects("send")], "propose: passed, admit: stopped, acquire: not reached"],
    ["runs", [starts("send"), approves("send"), starts("send")], "acquire: passed, execute: now, commit: not reached"],
    [
      "has succeeded",
      [starts("send"), approves("send"), starts("send"), answers("send")],
      "execute: passed, commit: passed, dispatch: passed",
    ],
  ])("say where a call is that %s", (_, moves, stages) => {
    expect(stagesOf(viewAfter("human_gated", ...moves), "send")).toContain(stages);
  });

  it("name the state of the ledger row and the receipt", () => {
    const view = viewAfter("auto_exec", does("send"));
    const index = view.find("send") ?? -1;
    const facts = stepStages(view.step(index), view.history(index), () => false).flatMap((stage) => stage.facts);
    expect(facts).toEqual(expect.arrayContaining(["ledger: committed", "receipt: event 3"]));
  });
});

describe("the blast radius of an undo", () => {
  it("lists the acts, latest first, with what the undo can do and the steps that have used them", () => {
    const view = viewAfter("auto_exec", does("read"), does("send"), does("log"));
    const [act, ...others] = blastRadius(view, () => true);
    expect(others).toEqual([]);
    expect(act).toMatchObject({
      step_id: "send",
      tool: "mail.send",
      state: "committed",
      outlook: "undo",
      usedBy: ["log"],
    });
    expect(blastRadius(view, () => false)[0]?.outlook).toBe("keep");
    expect(blastRadius(view, () => undefined)[0]?.outlook).toBe("unknown");
  });

  it("says which acts are being undone already", () => {
    const view = viewAfter("auto_exec", does("send"), undoes("send"));
    expect(blastRadius(view, () => true)[0]?.outlook).toBe("done");
  });
});
