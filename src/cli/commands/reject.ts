import type { Command } from "commander";
import { type DecisionOptions, decideGate, makeDecisionCommand } from "../decide-gate.ts";
import { helpExample, type Invocation } from "../invocation.ts";

export function rejectCommand(invocation: Invocation): Command {
  const command = makeDecisionCommand("reject", "reject a held call; one rejection closes the gate")
    .alias("deny")
    .addHelpText("after", helpExample(`writ reject gate_01k2… --reason "wrong customer"`));
  return invocation.withAction<DecisionOptions>(command, ([gate = ""], options) =>
    decideGate(invocation, options, "store", gate, ({ engine }, decision) => engine.reject(gate, decision)),
  );
}
