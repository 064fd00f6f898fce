import { Command } from "commander";
import type { PrincipalInput } from "../engine/api/engine-api.ts";
import type { ExitCode } from "./exit-code.ts";
import { votesText } from "./gate-text.ts";
import type { GlobalOptions, Invocation } from "./invocation.ts";
import { continuationLines } from "./run-advice.ts";
import { line } from "./safe-line.ts";
import { type OpenedEngine, withEngine } from "./with-engine.ts";

/** The options that `approve` and `reject` share. */
export interface DecisionOptions {
  readonly reason?: string;
  readonly digest?: string;
}

interface GateDecision {
  readonly principal: PrincipalInput;
  readonly reason?: string;
  readonly digest?: string;
}

/** Returns a command with the argument and the options that `approve` and `reject` share. */
export function makeDecisionCommand(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .argument("<gate>", "id of the gate; see: writ gates")
    .option("--reason <text>", "the reason, for the record")
    .option("--digest <sha256>", "digest of the call that you looked at; refused if the gate holds another call");
}

/** Records a decision and prints the gate. The process that executes the run reacts by itself. */
export async function decideGate(
  invocation: Invocation,
  options: DecisionOptions & GlobalOptions,
  needs: "store" | "tools",
  gateId: string,
  decide: (opened: OpenedEngine, decision: GateDecision) => Promise<void>,
): Promise<ExitCode> {
  const { reason, digest } = options;
  return withEngine(invocation, options, { work: "no", needs }, async (opened) => {
    const { person } = opened;
    await decide(opened, {
      principal: person,
      ...(reason !== undefined && { reason }),
      ...(digest !== undefined && { digest }),
    });
    const gate = await opened.engine.gate(gateId, { principal: person });
    invocation.terminal.printResult(gate, () =>
      gate.status === "open"
        ? [
            line`approved by ${person.id}; ${gate.tool} in ${gate.run_id} needs more approvals`,
            line`  ${votesText(gate)}`,
          ]
        : [
            line`${gate.status} by ${person.id}: ${gate.tool} in ${gate.run_id}`,
            ...continuationLines(opened.isExecuted(), gate.run_id, opened),
          ],
    );
    return 0;
  });
}
