import { Command, InvalidArgumentError } from "commander";
import type { RecordedSlice, StateSelector, StateVersionSelector, StateView } from "../../engine/api/state-api.ts";
import { helpExample, type Invocation, invalidInput } from "../invocation.ts";
import { line, type SafeLine, shortValue, tableLines } from "../safe-line.ts";
import type { TextStyle } from "../text-style.ts";
import { timeText } from "../time-text.ts";
import { withEngine } from "../with-engine.ts";

interface StateOptions {
  readonly run?: string;
  readonly asOf?: StateVersionSelector;
}

export function stateCommand(invocation: Invocation): Command {
  const command = new Command("state")
    .description("print the state of a project, or of a run with its own state: now, at a version or at a time")
    .argument("[project]", "name of the project")
    .option("--run <run>", "instead of a project: the state that this run uses")
    .option("--as-of <version|time>", "a version, like 12, or a time, like 2025-11-15T10:00:00Z", parseStateTime)
    .addHelpText("after", helpExample("writ state website", "writ state website --as-of 12 --json"));
  return invocation.withAction<StateOptions>(command, ([project], options) =>
    withEngine(invocation, options, { work: "no", needs: "store" }, async ({ engine, person }) => {
      const owner = stateOwner(project, options.run);
      const state = await engine.state({ principal: person, ...owner, ...options.asOf });
      const slices = state.all();
      invocation.terminal.printResult({ ...owner, version: state.version, at: state.at, slices }, () =>
        stateLines(state, slices, invocation.terminal.style),
      );
      return 0;
    }),
  );
}

function stateOwner(project: string | undefined, runId: string | undefined): StateSelector {
  if (project !== undefined && runId === undefined) return { project };
  if (project === undefined && runId !== undefined) return { runId };
  throw invalidInput("give a project or --run <run>");
}

function parseStateTime(text: string): StateVersionSelector {
  if (/^\d{1,15}$/.test(text)) return { version: Number(text) };
  const at = Date.parse(text);
  if (/^\d{4}-\d\d-\d\d([T ].+)?$/.test(text) && Number.isSafeInteger(at)) return { at };
  throw new InvalidArgumentError("It must be a version like 12, or a time like 2025-11-15T10:00:00Z.");
}

function stateLines(
  { version, at }: StateView,
  slices: Readonly<Record<string, RecordedSlice>>,
  style: TextStyle,
): readonly SafeLine[] {
  if (at === null) return [line`nothing has been written yet`];
  return [
    line`version ${version}, ${timeText(at, style)}`,
    ...Object.entries(slices).flatMap(([name, { entries }]) => [
      line`${name}`,
      ...tableLines(
        Object.entries(entries).map(([key, entry]) => [line`${key}`, shortValue(entry)]),
        "  ",
      ),
    ]),
  ];
}
