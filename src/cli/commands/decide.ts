import { Command } from "commander";
import type { PrincipalInput } from "../../engine/api.ts";
import type { ExitCode } from "../exit-code.ts";
import { example, type GlobalOptions, type Invocation } from "../invocation.ts";
import { readInline } from "../json-file.ts";
import { line } from "../line.ts";
import { type Opened, opened } from "../opening.ts";
import { goingOnLine, votesText } from "../result-text.ts";

interface DecideOptions {
  readonly reason?: string;
  readonly role?: readonly string[];
  readonly digest?: string;
}

export function approveCommand(invocation: Invocation): Command {
  const command = deciding("approve", "say yes to a held call, which is made once, exactly as it is shown")
    .option("--input <json>", "approve the call with this input instead; the rules judge it anew")
    .addHelpText(
      "after",
      example(
        "writ approve gate_01k2…",
        `writ approve gate_01k2… --as ana --role cfo --reason "checked the address"`,
        `writ approve gate_01k2… --input '{"to":"ana@example.org"}'`,
      ),
    );
  return invocation.does<DecideOptions & { readonly input?: string }>(command, ([gate = ""], { input, ...options }) => {
    const edit = input === undefined ? {} : { input: readInline(input, "--input") };
    const needs = input === undefined ? "store" : "tools";
    return decided(invocation, options, needs, gate, ({ engine }, said) => engine.approve(gate, { ...said, ...edit }));
  });
}

export function rejectCommand(invocation: Invocation): Command {
  const command = deciding("reject", "refuse a held call; one no is enough")
    .alias("deny")
    .addHelpText("after", example(`writ reject gate_01k2… --reason "wrong customer"`));
  return invocation.does<DecideOptions>(command, ([gate = ""], options) =>
    decided(invocation, options, "store", gate, ({ engine }, said) => engine.reject(gate, said)),
  );
}

function deciding(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .argument("<gate>", "the id of the gate; see: writ gates")
    .option("--reason <text>", "why, for the record")
    .option("--role <name...>", "the roles that you have")
    .option("--digest <sha256>", "of the call that you looked at; refused if the gate holds another");
}

interface Saying {
  readonly principal: PrincipalInput;
  readonly reason?: string;
  readonly digest?: string;
}

/** Records the decision. Whoever executes the run notices by itself. */
async function decided(
  invocation: Invocation,
  options: DecideOptions & GlobalOptions,
  needs: "store" | "tools",
  gateId: string,
  say: (it: Opened, said: Saying) => Promise<void>,
): Promise<ExitCode> {
  const { reason, role, digest } = options;
  return opened(invocation, options, { work: "no", needs }, async (it) => {
    const { engine } = it;
    const person = { ...it.person, ...(role !== undefined && { roles: role }) };
    await say(it, {
      principal: person,
      ...(reason !== undefined && { reason }),
      ...(digest !== undefined && { digest }),
    });
    const gate = await engine.gate(gateId, { principal: person });
    invocation.terminal.answer(gate, () =>
      gate.status === "open"
        ? [line`${person.id} says yes: ${gate.tool} in ${gate.run_id} waits for more`, line`  ${votesText(gate)}`]
        : [
            line`${gate.status} by ${person.id}: ${gate.tool} in ${gate.run_id}`,
            goingOnLine(it.isExecuted(), gate.run_id, it.commandLine),
          ],
    );
    return 0;
  });
}
