import { Argument, Command } from "commander";
import type { Json } from "../../core/values/json.ts";
import type { ProjectVersion } from "../../engine/api/project-api.ts";
import { type ExitCode, exitCodeOfStatus } from "../exit-code.ts";
import { type GlobalOptions, helpExample, type Invocation, invalidInput, parseWholeNumber } from "../invocation.ts";
import { printRun } from "../print-run.ts";
import { jsonLines, line, type SafeLine, shortValue, tableLines } from "../safe-line.ts";
import type { TextStyle } from "../text-style.ts";
import { timeText } from "../time-text.ts";
import { type OpenedEngine, withEngine } from "../with-engine.ts";

interface ProjectOptions {
  readonly reason?: string;
  readonly version?: number;
  readonly limit?: number;
}

type ProjectCommandOptions = ProjectOptions & GlobalOptions;

const lockedStatus = { lock: "locked", archive: "archived" } as const;

export function projectCommand(invocation: Invocation): Command {
  const command = new Command("project")
    .description("show a project or its history, lock, archive or open it, or revert it to a version")
    .addArgument(new Argument("<what>", "action").choices(["show", "history", "lock", "archive", "open", "revert"]))
    .argument("<project>", "name of the project")
    .option("--reason <text>", "for lock, archive and open: the reason, for the record")
    .option("--version-number <n>", "for show (default: the latest) and revert: the version", parseWholeNumber)
    .option("--limit <n>", "for history: maximum number of versions (default: 50)", parseWholeNumber)
    .addHelpText(
      "after",
      helpExample(
        "writ project history website",
        "writ project revert website --version-number 7",
        "writ project lock website",
      ),
    );
  return invocation.withAction<Omit<ProjectOptions, "version"> & { readonly versionNumber?: number }>(
    command,
    ([what = "", name = ""], { versionNumber, ...given }) => {
      const options: ProjectCommandOptions = {
        ...given,
        ...(versionNumber !== undefined && { version: versionNumber }),
      };
      return what === "revert"
        ? revertProject(invocation, name, options)
        : runProjectAction(invocation, what, name, options);
    },
  );
}

function runProjectAction(
  invocation: Invocation,
  what: string,
  name: string,
  options: ProjectCommandOptions,
): Promise<ExitCode> {
  return withEngine(invocation, options, { work: "no", needs: "store" }, async (opened) => {
    if (what === "history") await showHistory(invocation, opened, name, options);
    else if (what === "show") await showProject(invocation, opened, name, options);
    else await changeProject(invocation, opened, what as "open" | keyof typeof lockedStatus, name, options);
    return 0;
  });
}

async function showHistory(
  { terminal }: Invocation,
  { engine, person }: OpenedEngine,
  name: string,
  { limit }: ProjectCommandOptions,
) {
  const versions = await engine.projects.history(name, { principal: person, ...(limit !== undefined && { limit }) });
  terminal.printResult({ versions }, () =>
    versions.length === 0
      ? [line`nothing has been written to project ${name}`]
      : versionLines(versions, terminal.style),
  );
}

function versionLines(versions: readonly ProjectVersion[], style: TextStyle): readonly SafeLine[] {
  return tableLines(
    versions.map(({ version, at, by, tool, type, run_id, step_id, patch }) => [
      line`${version}`,
      line`${timeText(at, style)}`,
      line`${by}`,
      line`${tool ?? type}`,
      line`${run_id}${step_id === null ? "" : ` ${step_id}`}`,
      shortValue(patch as unknown as Json),
    ]),
  );
}

async function showProject(
  { terminal }: Invocation,
  { engine, person }: OpenedEngine,
  name: string,
  { version }: ProjectCommandOptions,
) {
  const state = await engine.state({ principal: person, project: name, ...(version !== undefined && { version }) });
  const closure = await engine.projects.closure(name, { principal: person });
  const slices = state.all() as unknown as Json;
  terminal.printResult({ project: name, version: state.version, at: state.at, closure, slices }, () => [
    line`project ${name}, version ${state.version}${state.at === null ? "" : ` of ${timeText(state.at, terminal.style)}`}`,
    ...(closure === null
      ? []
      : [line`${closure.how} by ${closure.by} since ${timeText(closure.at, terminal.style)}  ${closure.reason}`]),
    ...jsonLines(slices, "  "),
  ]);
}

async function changeProject(
  { terminal }: Invocation,
  { engine, person }: OpenedEngine,
  what: "open" | keyof typeof lockedStatus,
  name: string,
  { reason }: ProjectCommandOptions,
): Promise<void> {
  const decision = { principal: person, ...(reason !== undefined && { reason }) };
  if (what === "open") await engine.projects.open(name, decision);
  else await engine.projects.close(name, { ...decision, as: lockedStatus[what] });
  const closure = await engine.projects.closure(name, { principal: person });
  terminal.printResult({ project: name, closure }, () => [line`${name} is ${closure?.how ?? "open"}, by ${person.id}`]);
}

/** Reverts by a run of its own, which this process executes as the person, with the slices and rules of the config. */
async function revertProject(invocation: Invocation, name: string, options: ProjectCommandOptions): Promise<ExitCode> {
  const { version } = options;
  if (version === undefined) throw invalidInput("give the version: --version-number <n>; see: writ project history");
  return withEngine(invocation, options, { work: "yes", needs: "tools" }, async (opened) => {
    const { result } = await opened.engine.projects.revert(name, version, { principal: opened.person });
    await printRun(invocation, opened, result);
    return exitCodeOfStatus(result.status);
  });
}
