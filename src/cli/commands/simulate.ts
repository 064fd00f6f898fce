import { Command } from "commander";
import { demandText } from "../../core/demand.ts";
import type { Estimate } from "../../core/limits/budget.ts";
import type { Engine, SimulatedStep, Simulation } from "../../engine/api.ts";
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
    .option("--reads <how>", "what reads is answered by: recorded, none or live", "recorded")
    .option("--context <json|file>", "values for the placeholders of idempotency templates")
    .addHelpText("after", example("writ simulate plan.json"));
  return invocation.does<{ readonly context?: string; readonly reads: string }>(
    command,
    async ([path = ""], options) => {
      const { cwd } = invocation.host;
      const plan = await readPlanFile(path, cwd);
      const context = options.context === undefined ? {} : { context: await readContext(options.context, cwd) };
      const given = { ...context, reads: options.reads as "recorded" };
      // What is asked for real is a run, and takes a worker.
      const work = options.reads === "live" ? "yes" : "no";
      return opened(invocation, options, { work, needs: "tools" }, (it) => simulated(invocation, it, plan, given));
    },
  );
}

/** Simulates as whoever would propose the plan, because what is allowed depends on who asks. */
export async function simulated(
  { terminal }: Invocation,
  it: Opened,
  plan: unknown,
  given: Omit<Parameters<Engine["simulate"]>[1], "principal">,
): Promise<ExitCode> {
  const simulation = await it.engine.simulate(plan, { ...given, principal: it.proposer });
  terminal.answer(simulation, () => simulationLines(simulation, terminal.paint));
  const fails = Object.values(simulation.steps).some(({ would }) => would === "fail");
  return fails || simulation.status === "failed" ? 4 : 0;
}

function simulationLines(simulation: Simulation, paint: Paint): readonly Line[] {
  const { status, steps, acts, gates, changes } = simulation;
  const rows = Object.entries(steps).map(([id, step]) => [line`${id}`, line`${step.would}`, wouldText(step)]);
  const final = acts.filter(({ reversible }) => !reversible).map(({ step_id }) => step_id);
  return [
    line`would be ${stateText(status, paint)}; nothing was done`,
    ...tableLines(rows, "  "),
    ...gates.map(({ step_id, reason, demand }) => line`${step_id} asks for ${demandText(demand)}: ${reason}`),
    ...changes.map(({ path, before, after }) => line`${path}: ${glance(before ?? null)} → ${glance(after ?? null)}`),
    ...(final.length === 0 ? [] : [line`cannot be undone: ${final.join(", ")}`]),
    ...costLines(simulation.cost),
  ];
}

function costLines({ least, most }: Simulation["cost"]): readonly Line[] {
  const told = (amounts: Estimate) =>
    Object.entries(amounts).flatMap(([unit, amount]) => (amount === 0 ? [] : [`${amount} ${unit}`]));
  if (most === null)
    return [line`what it would cost cannot be told; ${told(least).join(", ") || "nothing"} is certain`];
  const [from, to] = [told(least).join(", ") || "nothing", told(most).join(", ") || "nothing"];
  return to === "nothing" ? [] : [line`would cost ${from === to ? to : `${from} to ${to}`}`];
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
