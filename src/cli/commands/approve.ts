import type { Command } from "commander";
import type { JsonObject } from "../../core/values/json.ts";
import { type DecisionOptions, decideGate, makeDecisionCommand } from "../decide-gate.ts";
import { helpExample, type Invocation } from "../invocation.ts";
import { readInline } from "../json-file.ts";

export function approveCommand(invocation: Invocation): Command {
  const command = makeDecisionCommand("approve", "approve a held call; it runs once, exactly as shown")
    .option("--input <json>", "approve the call with this input instead; the guards judge it again")
    .option("--data <json>", "supply the values that the gate asks for, by their JSON pointers")
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
        `writ approve gate_01k2… --data '{"/transcript":"…"}'`,
      ),
    );
  return invocation.withAction<DecisionOptions & ApproveEdit>(
    command,
    ([gate = ""], { input, data, sameAs, ...options }) => {
      const edit = {
        ...(sameAs !== undefined && { sameAs }),
        ...(input !== undefined && { input: readInline(input, "--input") }),
        ...(data !== undefined && { data: readInline(data, "--data") as JsonObject }),
      };
      const needs = input === undefined && data === undefined ? "store" : "tools";
      return decideGate(invocation, options, needs, gate, ({ engine }, decision) =>
        engine.approve(gate, { ...decision, ...edit }),
      );
    },
  );
}

interface ApproveEdit {
  readonly input?: string;
  readonly data?: string;
  readonly sameAs?: string;
}
