import type { Command } from "commander";
import { type DecisionOptions, decideGate, makeDecisionCommand } from "../decide-gate.ts";
import { helpExample, type Invocation } from "../invocation.ts";
import { readInline } from "../json-file.ts";

export function approveCommand(invocation: Invocation): Command {
  const command = makeDecisionCommand("approve", "approve a held call; it runs once, exactly as shown")
    .option("--input <json>", "approve the call with this input instead; the guards judge it again")
    .option(
      "--same-as <step>",
      "the call repeats this act of the branch that was left: its receipt answers, and nothing is done",
    )
    .addHelpText(
      "after",
      helpExample(
        "writ approve gate_01k2…",
        `writ approve gate_01k2… --as ana --role cfo --reason "checked the address"`,
        `writ approve gate_01k2… --input '{"to":"ana@example.org"}'`,
      ),
    );
  return invocation.withAction<DecisionOptions & { readonly input?: string; readonly sameAs?: string }>(
    command,
    ([gate = ""], { input, sameAs, ...options }) => {
      const same = sameAs === undefined ? {} : { sameAs };
      const edit = input === undefined ? same : { ...same, input: readInline(input, "--input") };
      const needs = input === undefined ? "store" : "tools";
      return decideGate(invocation, options, needs, gate, ({ engine }, decision) =>
        engine.approve(gate, { ...decision, ...edit }),
      );
    },
  );
}
