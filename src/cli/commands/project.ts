import { Argument, Command } from "commander";
import type { Json } from "../../core/json/json.ts";
import type { ProjectVersion } from "../../engine/desk/project-api.ts";
import { type ExitCode, exitOfStatus } from "../exit-code.ts";
import { example, type GlobalOptions, type Invocation, invalid, wholeNumber } from "../invocation.ts";
import { glance, jsonLines, type Line, line, tableLines } from "../line.ts";
import { type Opened, opened } from "../opening.ts";
import { resultLines, timeText } from "../result-text.ts";

interface ProjectOptions {
  readonly reason?: string;
  readonly version?: number;
  readonly limit?: number;
}

type Asked = ProjectOptions & GlobalOptions;

const closing = { lock: "locked", archive: "archived" } as const;

export function projectCommand(invocation: Invocation): Command {
  const command = new Command("project")
    .description("a project: its state and history, closing and opening it, and going back to a version")
    .addArgument(new Argument("<what>", "what to do").choices(["show", "history", "lock", "archive", "open", "revert"]))
    .argument("<project>", "its name")
    .option("--reason <text>", "why, for the record: lock, archive, open")
    .option("--version-number <n>", "which version: show (default: the latest), revert", wholeNumber)
    .option("--limit <n>", "how many versions: history (default: 50)", wholeNumber)
    .addHelpText(
      "after",
      example(
        "writ project history website",
        "writ project revert website --version-number 7",
        "writ project lock website",
      ),
    );
  return invocation.does<Omit<ProjectOptions, "version"> & { readonly versionNumber?: number }>(
    command,
    ([what = "", name = ""], { versionNumber, ...given }) => {
      const options: Asked = { ...given, ...(versionNumber !== undefined && { version: versionNumber }) };
      return what === "revert" ? reverted(invocation, name, options) : seenTo(invocation, what, name, options);
    },
  );
}

function seenTo(invocation: Invocation, what: string, name: string, options: Asked): Promise<ExitCode> {
  return opened(invocation, options, { work: "no", needs: "store" }, async (it) => {
    if (what === "history") await history(invocation, it, name, options);
    else if (what === "show") await shown(invocation, it, name, options);
    else await changed(invocation, it, what as "open" | keyof typeof closing, name, options);
    return 0;
  });
}

async function history({ terminal }: Invocation, { engine, person }: Opened, name: string, { limit }: Asked) {
  const versions = await engine.projects.history(name, { principal: person, ...(limit !== undefined && { limit }) });
  terminal.answer({ versions }, () =>
    versions.length === 0 ? [line`nothing was ever written to project ${name}`] : versionLines(versions),
  );
}

function versionLines(versions: readonly ProjectVersion[]): readonly Line[] {
  return tableLines(
    versions.map(({ version, at, by, tool, type, run_id, step_id, patch }) => [
      line`${version}`,
      line`${timeText(at)}`,
      line`${by}`,
      line`${tool ?? type}`,
      line`${run_id}${step_id === null ? "" : ` ${step_id}`}`,
      glance(patch as unknown as Json),
    ]),
  );
}

async function shown({ terminal }: Invocation, { engine, person }: Opened, name: string, { version }: Asked) {
  const state = await engine.state({ principal: person, project: name, ...(version !== undefined && { version }) });
  const closure = await engine.projects.closure(name, { principal: person });
  const slices = state.all() as unknown as Json;
  terminal.answer({ project: name, version: state.version, at: state.at, closure, slices }, () => [
    line`project ${name}, version ${state.version}${state.at === null ? "" : ` of ${timeText(state.at)}`}`,
    ...(closure === null
      ? []
      : [line`${closure.how} by ${closure.by} since ${timeText(closure.at)}  ${closure.reason}`]),
    ...jsonLines(slices, "  "),
  ]);
}

async function changed(
  { terminal }: Invocation,
  { engine, person }: Opened,
  what: "open" | keyof typeof closing,
  name: string,
  { reason }: Asked,
): Promise<void> {
  const said = { principal: person, ...(reason !== undefined && { reason }) };
  if (what === "open") await engine.projects.open(name, said);
  else await engine.projects.close(name, { ...said, as: closing[what] });
  const closure = await engine.projects.closure(name, { principal: person });
  terminal.answer({ project: name, closure }, () => [line`${name} is ${closure?.how ?? "open"}, by ${person.id}`]);
}

/** By a run of its own, executed here, as a person: slices and rules are those of the config. */
async function reverted(invocation: Invocation, name: string, options: Asked): Promise<ExitCode> {
  const { version } = options;
  if (version === undefined)
    throw invalid("say which version to go back to: --version-number <n>; see: writ project history");
  return opened(invocation, options, { work: "yes", needs: "tools" }, async ({ engine, person, commandLine }) => {
    const { result } = await engine.projects.revert(name, version, { principal: person });
    invocation.terminal.answer(result, () => resultLines(result, commandLine, invocation.terminal.paint));
    return exitOfStatus(result.status);
  });
}
