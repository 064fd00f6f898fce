import { Command } from "commander";
import type { Halt } from "../../core/rows.ts";
import type { PrincipalInput } from "../../engine/asking.ts";
import { example, type Invocation } from "../invocation.ts";
import { type Line, line, tableLines } from "../line.ts";
import { opened } from "../opening.ts";
import { timeText } from "../result-text.ts";

interface HaltOptions {
  readonly reason?: string;
  readonly everything?: true;
}

export function haltCommand(invocation: Invocation): Command {
  const command = new Command("halt")
    .description("let nothing new begin, on any worker, until it is lifted; what is under way comes to its end")
    .argument("[run]", "only this run and those it asked for; default: all of the tenant")
    .requiredOption("--reason <text>", "why, for the record and for whoever lifts it")
    .option("--everything", "all tenants of this store")
    .addHelpText(
      "after",
      example(`writ halt --reason "it mails the wrong people"`, `writ halt run_01k2… --reason "loops"`),
    );
  return invocation.does<HaltOptions & { readonly reason: string }>(command, ([run], options) =>
    opened(invocation, options, { work: "no", needs: "store" }, async ({ engine, person, commandLine }) => {
      const { reason } = options;
      await engine.halts.set({ ...placeOf(run, options, person), reason });
      const halts = await engine.halts.list({ principal: person });
      invocation.terminal.answer({ halts }, () => [
        ...haltLines(halts),
        line`nothing new begins there; go on with:  ${commandLine("go", ...wordsOf(run, options))}`,
      ]);
      return 0;
    }),
  );
}

export function goCommand(invocation: Invocation): Command {
  const command = new Command("go")
    .description("lift a halt: what waited goes on by itself")
    .argument("[run]", "what was halted: this run; default: all of the tenant")
    .option("--reason <text>", "why, for the record")
    .option("--everything", "all tenants of this store")
    .addHelpText("after", example(`writ go --reason "the list is mended"`, "writ go run_01k2…"));
  return invocation.does<HaltOptions>(command, ([run], options) =>
    opened(invocation, options, { work: "no", needs: "store" }, async ({ engine, person }) => {
      const { reason } = options;
      await engine.halts.lift({ ...placeOf(run, options, person), ...(reason !== undefined && { reason }) });
      const halts = await engine.halts.list({ principal: person });
      invocation.terminal.answer({ halts }, () => [line`lifted by ${person.id}`, ...haltLines(halts)]);
      return 0;
    }),
  );
}

export function haltsCommand(invocation: Invocation): Command {
  const command = new Command("halts")
    .description("what is halted at the moment, since when, by whom and why")
    .addHelpText("after", example("writ halts"));
  return invocation.does(command, (_, options) =>
    opened(invocation, options, { work: "no", needs: "store" }, async ({ engine, person }) => {
      const halts = await engine.halts.list({ principal: person });
      invocation.terminal.answer({ halts }, () =>
        halts.length === 0 ? [line`nothing is halted in tenant ${person.tenant}`] : haltLines(halts),
      );
      return 0;
    }),
  );
}

/** Whoever has the store in their hands is its operator. */
function placeOf(runId: string | undefined, { everything }: HaltOptions, person: PrincipalInput) {
  const principal = everything ? { ...person, roles: ["operator"] } : person;
  return { principal, ...(everything && { everything }), ...(runId !== undefined && { runId }) };
}

function wordsOf(run: string | undefined, { everything }: HaltOptions): readonly string[] {
  return [...(run === undefined ? [] : [run]), ...(everything ? ["--everything"] : [])];
}

function haltLines(halts: readonly Halt[]): readonly Line[] {
  return tableLines(
    halts.map(({ over, by, at, reason }) => [
      line`halted: ${over}`,
      line`by ${by}`,
      line`since ${timeText(at)}`,
      line`${reason}`,
    ]),
  );
}
