import { Command, InvalidArgumentError } from "commander";
import type { RecordedSlice, StateOf, StateView, StateWhen } from "../../engine/desk/state-api.ts";
import { example, type Invocation, invalid } from "../invocation.ts";
import { glance, type Line, line, tableLines } from "../line.ts";
import { opened } from "../opening.ts";
import { timeText } from "../result-text.ts";

interface StateOptions {
  readonly run?: string;
  readonly asOf?: StateWhen;
}

export function stateCommand(invocation: Invocation): Command {
  const command = new Command("state")
    .description("the state of a project, or that of a run that has its own: now, at a version, or at a time")
    .argument("[project]", "the name of the project")
    .option("--run <run>", "instead of a project: the state that this run works on")
    .option(
      "--as-of <version|time>",
      "as a version left it, like 12, or as it was then, like 2025-11-15T10:00:00Z",
      asOf,
    )
    .addHelpText("after", example("writ state website", "writ state website --as-of 12 --json"));
  return invocation.does<StateOptions>(command, ([project], options) =>
    opened(invocation, options, { work: "no", needs: "store" }, async ({ engine, person }) => {
      const of = whose(project, options.run);
      const state = await engine.state({ principal: person, ...of, ...options.asOf });
      const slices = state.all();
      invocation.terminal.answer({ ...of, version: state.version, at: state.at, slices }, () =>
        stateLines(state, slices),
      );
      return 0;
    }),
  );
}

function whose(project: string | undefined, runId: string | undefined): StateOf {
  if (project !== undefined && runId === undefined) return { project };
  if (project === undefined && runId !== undefined) return { runId };
  throw invalid("say whose state: a project, or --run <run>");
}

function asOf(text: string): StateWhen {
  if (/^\d{1,15}$/.test(text)) return { version: Number(text) };
  const at = Date.parse(text);
  if (/^\d{4}-\d\d-\d\d(T.+)?$/.test(text) && Number.isSafeInteger(at)) return { at };
  throw new InvalidArgumentError("It must be a version like 12, or a time like 2025-11-15T10:00:00Z.");
}

function stateLines({ version, at }: StateView, slices: Readonly<Record<string, RecordedSlice>>): readonly Line[] {
  if (at === null) return [line`nothing was written yet`];
  return [
    line`version ${version}, ${timeText(at)}`,
    ...Object.entries(slices).flatMap(([name, { entries }]) => [
      line`${name}`,
      ...tableLines(
        Object.entries(entries).map(([key, entry]) => [line`${key}`, glance(entry)]),
        "  ",
      ),
    ]),
  ];
}
