import { Command } from "commander";
import type { SimulatedStep, Simulation, SubmitOptions } from "../../engine/api.ts";
import type { ExitCode } from "../exit-code.ts";
import { example, type Invocation } from "../invocation.ts";
import { readContext, readPlanFile } from "../json-file.ts";
import { glance, type Line, line, tableLines } from "../line.ts";
import { type Opened, opened } from "../opening.ts";
import { stateText } from "../result-text.ts";
import type { Paint } from "../terminal.ts";

export function simulateCommand(invocation: Invocation): Command {
  const command = new Command("simulate")
    .description("tell what a plan would do, and do none of it")
    .argument("<plan>", "a file with the plan, as JSON")
    .option("--context <json|file>", "values for the placeholders of idempotency templates")
    .addHelpText("after", example("writ simulate plan.json"));
  return invocation.does<{ readonly context?: string }>(command, async ([path = ""], options) => {
    const { cwd } = invocation.host;
    const plan = await readPlanFile(path, cwd);
    const given = options.context === undefined ? {} : { context: await readContext(options.context, cwd) };
    return opened(invocation, options, { work: "no", needs: "tools" }, (it) => simulated(invocation, it, plan, given));
  });
}

/** Simulates as whoever would propose the plan, because what is allowed depends on who asks. */
export async function simulated(
  { terminal }: Invocation,
  it: Opened,
  plan: unknown,
  given: Omit<SubmitOptions, "principal">,
): Promise<ExitCode> {
  const simulation = await it.engine.simulate(plan, { ...given, principal: it.proposer });
  terminal.answer(simulation, () => simulationLines(simulation, terminal.paint));
  const fails = Object.values(simulation.steps).some(({ would }) => would === "fail");
  return fails || simulation.status === "failed" ? 4 : 0;
}

function simulationLines({ status, steps }: Simulation, paint: Paint): readonly Line[] {
  const rows = Object.entries(steps).map(([id, step]) => [line`${id}`, line`${step.would}`, wouldText(step)]);
  return [line`would be ${stateText(status, paint)}; nothing was done`, ...tableLines(rows, "  ")];
}

function wouldText(step: SimulatedStep): Line {
  switch (step.would) {
    case "succeed":
      return glance(step.output);
    case "act":
      return line`${step.needs_approval ? "after approval, " : ""}with ${glance(step.input)}`;
    case "fail":
      return line`${step.fault.code}: ${step.fault.message}`;
    case "unknown":
      return line`${step.why}`;
  }
}
