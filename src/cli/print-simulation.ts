import type { Engine } from "../engine/api/engine-api.ts";
import type { ExitCode } from "./exit-code.ts";
import type { Invocation } from "./invocation.ts";
import { simulationLines } from "./simulation-text.ts";
import type { OpenedEngine } from "./with-engine.ts";

/** Simulates as the principal that would submit the plan, because the guards depend on the principal. */
export async function printSimulation(
  { terminal }: Invocation,
  opened: OpenedEngine,
  plan: unknown,
  given: Omit<Parameters<Engine["simulate"]>[1], "principal">,
): Promise<ExitCode> {
  const simulation = await opened.engine.simulate(plan, { ...given, principal: opened.proposer });
  terminal.printResult(simulation, () => simulationLines(simulation, terminal.style));
  const fails = Object.values(simulation.steps).some(({ would }) => would === "fail");
  return fails || simulation.status === "failed" ? 4 : 0;
}
