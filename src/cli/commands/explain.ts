import { Command } from "commander";
import { FaultError, fault } from "../../core/fault.ts";
import type { StepId } from "../../core/id.ts";
import type { RecordedEvent } from "../../engine/api.ts";
import { type Explanation, explanationsOf } from "../explanation.ts";
import { example, type Invocation } from "../invocation.ts";
import { type Line, line } from "../line.ts";
import { opened } from "../opening.ts";
import { stateText, timeText } from "../result-text.ts";

export function explainCommand(invocation: Invocation): Command {
  const command = new Command("explain")
    .description(
      "tell why a step was let through, held, put off or refused: every rule that had a say, from the record",
    )
    .argument("<run>", "the id of the run; see: writ runs")
    .argument("<step>", "the id of the step; see: writ show")
    .addHelpText("after", example("writ explain run_01k2… send", "writ explain run_01k2… send --json"));
  return invocation.does(command, ([run = "", step = ""], options) =>
    opened(invocation, options, { work: "no", needs: "store" }, async ({ engine, person }) => {
      const { terminal } = invocation;
      const handle = await engine.run(run, { principal: person });
      const standing = (await handle.now()).steps[step];
      if (standing === undefined) throw new FaultError(fault("STEP_NOT_FOUND", `run ${run} has no step ${step}`));
      const journal: RecordedEvent[] = [];
      for await (const recorded of handle.events()) journal.push(recorded);
      const decisions = explanationsOf(journal, step as StepId);
      terminal.answer({ run_id: run, step_id: step, state: standing.state, decisions }, () => [
        line`${step} is ${stateText(standing.state, terminal.paint)}`,
        ...(decisions.length === 0
          ? [line`  nothing was decided about it that is on record`]
          : decisions.flatMap(lines)),
      ]);
      return 0;
    }),
  );
}

function lines(explanation: Explanation): readonly Line[] {
  const { at, decision, rule, reason, who, policy, passed, objections } = explanation;
  const by = rule === null ? "" : ` by ${rule}`;
  const person = who === null ? "" : decision === "held" ? ` for ${who}` : ` by ${who}`;
  return [
    line`  ${timeText(at)}  ${decision}${by}${person}${reason === "" ? "" : `: ${reason}`}`,
    ...objections
      .filter((each) => each.rule !== rule || objections.length > 1)
      .map((each) => line`    ${each.rule} says ${each.says}: ${each.reason}`),
    ...(passed.length === 0 ? [] : [line`    nothing against it: ${passed.join(", ")}`]),
    ...(policy === null ? [] : [line`    policy ${policy}`]),
  ];
}
