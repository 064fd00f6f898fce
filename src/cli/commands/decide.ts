import { Command } from "commander";
import type { ExitCode } from "../exit-code.ts";
import { example, type GlobalOptions, type Invocation } from "../invocation.ts";
import { line } from "../line.ts";
import { opened } from "../opening.ts";
import { goingOnLine } from "../result-text.ts";

interface DecideOptions {
  readonly reason?: string;
}

export function approveCommand(invocation: Invocation): Command {
  const command = new Command("approve")
    .description("let a held call happen, once, exactly as it is shown")
    .argument("<gate>", "the id of the gate; see: writ gates")
    .option("--reason <text>", "why, for the record")
    .addHelpText(
      "after",
      example("writ approve gate_01k2…", `writ approve gate_01k2… --as ana --reason "checked the address"`),
    );
  return invocation.does<DecideOptions>(command, ([gate = ""], options) =>
    decided(invocation, "approve", gate, options),
  );
}

export function rejectCommand(invocation: Invocation): Command {
  const command = new Command("reject")
    .description("refuse a held call")
    .argument("<gate>", "the id of the gate; see: writ gates")
    .option("--reason <text>", "why, for the record")
    .addHelpText("after", example(`writ reject gate_01k2… --reason "wrong customer"`));
  return invocation.does<DecideOptions>(command, ([gate = ""], options) =>
    decided(invocation, "reject", gate, options),
  );
}

/** Records the decision. Whoever executes the run notices by itself. */
async function decided(
  invocation: Invocation,
  verb: "approve" | "reject",
  gateId: string,
  options: DecideOptions & GlobalOptions,
): Promise<ExitCode> {
  const { terminal } = invocation;
  return opened(invocation, options, { work: "no", needs: "store" }, async (it) => {
    const { engine, person } = it;
    await engine[verb](gateId, { principal: person, ...(options.reason !== undefined && { reason: options.reason }) });
    const gate = await engine.gate(gateId, { principal: person });
    terminal.answer(gate, () => [
      line`${gate.status} by ${person.id}: ${gate.tool} in ${gate.run_id}`,
      goingOnLine(it.isExecuted(), gate.run_id, it.commandLine),
    ]);
    return 0;
  });
}
