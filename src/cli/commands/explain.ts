import { Command } from "commander";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { StepId } from "../../core/values/ids.ts";
import type { RecordedEvent } from "../../engine/api/engine-api.ts";
import { colouredState } from "../coloured-state.ts";
import { helpExample, type Invocation } from "../invocation.ts";
import { listStepDecisions, type StepDecision } from "../list-step-decisions.ts";
import { line, type SafeLine } from "../safe-line.ts";
import type { TextStyle } from "../text-style.ts";
import { timeText } from "../time-text.ts";
import { withEngine } from "../with-engine.ts";

export function explainCommand(invocation: Invocation): Command {
  const command = new Command("explain")
    .description("explain why a step was admitted, held, delayed or refused: every rule that decided, from the record")
    .argument("<run>", "id of the run; see: writ runs")
    .argument("<step>", "id of the step; see: writ show")
    .addHelpText("after", helpExample("writ explain run_01k2… send", "writ explain run_01k2… send --json"));
  return invocation.withAction(command, ([run = "", step = ""], options) =>
    withEngine(invocation, options, { work: "no", needs: "store" }, async ({ engine, person }) => {
      const { terminal } = invocation;
      const handle = await engine.run(run, { principal: person });
      const current = (await handle.now()).steps[step];
      if (current === undefined) throw new FaultError(fault("STEP_NOT_FOUND", `run ${run} has no step ${step}`));
      const journal: RecordedEvent[] = [];
      for await (const recorded of handle.events()) journal.push(recorded);
      const decisions = listStepDecisions(journal, step as StepId);
      terminal.printResult({ run_id: run, step_id: step, state: current.state, decisions }, () => [
        line`${step} is ${colouredState(current.state, terminal.style)}`,
        ...(decisions.length === 0
          ? [line`  the record has no decision about it`]
          : decisions.flatMap((each) => explanationLines(each, terminal.style))),
      ]);
      return 0;
    }),
  );
}

function explanationLines(explanation: StepDecision, style: TextStyle): readonly SafeLine[] {
  const { at, decision, rule, reason, who, policy, passed, objections } = explanation;
  const by = rule === null ? "" : ` by ${rule}`;
  const person = who === null ? "" : decision === "held" ? ` for ${who}` : ` by ${who}`;
  return [
    line`  ${timeText(at, style)}  ${decision}${by}${person}${reason === "" ? "" : `: ${reason}`}`,
    ...objections
      .filter((each) => each.rule !== rule || objections.length > 1)
      .map((each) => line`    ${each.rule} says ${each.says}: ${each.reason}`),
    ...(passed.length === 0 ? [] : [line`    no objection: ${passed.join(", ")}`]),
    ...(policy === null ? [] : [line`    policy ${policy}`]),
  ];
}
