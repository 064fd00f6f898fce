import { changesToRollBack, ROLLBACK_TOOL } from "../../core/run/changes-to-roll-back.ts";
import type { Run, Step } from "../../core/run/run.ts";
import { makeBuiltInTool } from "../../core/tool/make-built-in-tool.ts";
import type { Tool } from "../../core/tool/tool.ts";
import { toolDefaults } from "../../core/tool/tool-defaults.ts";
import { assert } from "../../core/values/assert.ts";
import type { Fault } from "../../core/values/fault.ts";
import { builtInToolSchema } from "../ports/built-in-tool-schema.ts";
import type { CallPorts } from "./call-ports.ts";

/** Returns the declaration of the restore that ends a rollback, as a tool. No plan can name it. */
export function makeRollbackTool(): Tool {
  return makeBuiltInTool({
    name: ROLLBACK_TOOL,
    effect: "writes",
    description: "Puts state and files back that an atomic plan has written.",
    input: builtInToolSchema({}, () => null),
    output: builtInToolSchema({}, () => null),
    timeoutMs: toolDefaults.verbTimeoutMs,
    run: async () => assert(false, "the engine restores what a plan has written"),
  });
}

/** Returns the tool of a step with the resources that this step changes. A rollback changes those of its run. */
export function toolForStep({ resources }: Pick<CallPorts, "resources">, run: Run, step: Step, tool: Tool): Tool {
  if (step.spec.kind !== "rollback") return tool;
  return { ...tool, resources: resources.accessTo(changesToRollBack(run).captures) };
}

/** Returns why a rollback must wait for another worker: this one does not have a resource that the run changed. */
export function missingResourceFault({ resources }: Pick<CallPorts, "resources">, run: Run, step: Step): Fault | null {
  return step.spec.kind === "rollback" ? resources.missingFor(changesToRollBack(run).captures) : null;
}
