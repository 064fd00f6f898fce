import { randomUUID } from "node:crypto";
import { Command } from "commander";
import { FaultError, fault } from "../../core/fault.ts";
import { guaranteeOf } from "../../core/guarantee.ts";
import type { Json } from "../../core/json/json.ts";
import { nearest } from "../../core/json/nearest.ts";
import type { Tool } from "../../core/tool.ts";
import { Toolbox } from "../../engine/road/toolbox.ts";
import { cel } from "../../expression/cel.ts";
import { type CrashRow, type CrashScene, crashRow } from "../crash-scene.ts";
import { crashLines } from "../crash-text.ts";
import { type CrashWindow, crashWindows } from "../crash-window.ts";
import { example, type GlobalOptions, type Invocation, invalid, positiveNumber } from "../invocation.ts";
import { readInline } from "../json-file.ts";
import { line } from "../line.ts";
import { commandLineOf, configWithTools, proposerOf } from "../opening.ts";

interface CrashtestOptions {
  readonly input: string;
  readonly count: string;
  readonly patience?: number;
  readonly debug?: boolean;
}

export function crashtestCommand(invocation: Invocation): Command {
  const command = new Command("crashtest")
    .description("really call a tool that acts, killed at every point of the road, and count what it did")
    .argument("<tool>", "the name of a tool of the config; see: writ tools")
    .requiredOption("--input <json>", "what to call it with; {unique} in it is another word each time")
    .requiredOption("--count <command>", "a command for your shell that prints how often the world saw the act")
    .option(
      "--patience <seconds>",
      "how long an act may take to come to rest (default: as its tool declares)",
      positiveNumber,
    )
    .addHelpText(
      "after",
      example(`writ crashtest mail.send --input '{"to":"test@example.org","body":"hi"}' --count "wc -l < outbox.txt"`),
    );
  return invocation.does<CrashtestOptions>(command, async ([name = ""], options) => {
    const { host, terminal } = invocation;
    const config = await configWithTools(options, host.cwd);
    const tool = actNamed(name, new Toolbox(config.tools, cel));
    inputFor(tool, options.input);
    const scene = sceneOf(invocation, tool, options, config.path);
    const rows = await withInterrupt(invocation, scene, (interruptible) => crashRows(invocation, interruptible));
    const ok = rows.every(({ verdict }) => verdict === "ok");
    const { version, effect } = tool;
    const { tenant } = proposerOf(options, config);
    terminal.answer({ tool: tool.name, version, effect, guarantee: guaranteeOf(tool), ok, windows: rows }, () => [
      line`${tool.name}@${version}: ${guaranteeOf(tool)}`,
      ...crashLines(rows, (store) => commandLineOf(host, { store, tenant }), terminal.paint),
    ]);
    if (!ok) return 4;
    return rows.every(({ settled }) => settled) ? 0 : 3;
  });
}

/** Only what acts has effects that could be done twice; everything else is explained instead. */
function actNamed(name: string, toolbox: Toolbox): Tool {
  const tool = toolbox.get(name);
  if (tool === undefined) {
    const names = toolbox.all().map((known) => known.name);
    const meant = nearest(name, names);
    const hint = meant === null ? `there are ${names.join(", ")}` : `did you mean ${meant}?`;
    throw new FaultError(fault("TOOL_UNKNOWN", `no tool is called ${name}; ${hint}`));
  }
  if (tool.effect === "acts") return tool;
  throw invalid(
    `${name} is declared ${tool.effect} (${guaranteeOf(tool)}), and only what acts leaves effects to count; if it does change the world, declare effect: "acts"`,
  );
}

function inputFor(tool: Tool, given: string): Json {
  const input = readInline(given.replaceAll("{unique}", `crashtest-${randomUUID().slice(0, 8)}`), "--input");
  const parsed = tool.input.parse(input);
  if (parsed.ok) return input;
  throw new FaultError(
    fault("INVALID_INPUT", `--input does not fit ${tool.name}: ${parsed.fault.message}`, parsed.fault.detail),
  );
}

/** Whatever a tool declares, nobody waits longer than this without having asked for it. */
const patienceMsMax = 600_000;
const marginMs = 10_000;

function sceneOf(
  { host }: Invocation,
  tool: Tool,
  { input, count, patience, tenant, debug = false }: CrashtestOptions & GlobalOptions,
  config: string,
): Omit<CrashScene, "signal"> {
  // A call, the quiet after it, and the look into the world.
  const declared = 2 * tool.timeoutMs + tool.settleAfterMs + marginMs;
  const patienceMs = patience === undefined ? Math.min(declared, patienceMsMax) : patience * 1000;
  return {
    ...{ host, count, patienceMs, loud: debug, tool: tool.name },
    newInput: () => inputFor(tool, input),
    options: ["--config", config, ...(tenant === undefined ? [] : ["--tenant", tenant])],
    stuckMs: patienceMs + tool.timeoutMs + marginMs,
  };
}

async function withInterrupt<Result>(
  { host }: Invocation,
  scene: Omit<CrashScene, "signal">,
  work: (scene: CrashScene) => Promise<Result>,
): Promise<Result> {
  const interrupted = new AbortController();
  const unheed = host.onInterrupt(() => interrupted.abort());
  try {
    return await work({ ...scene, signal: interrupted.signal });
  } finally {
    unheed();
  }
}

async function crashRows({ terminal }: Invocation, scene: CrashScene): Promise<readonly CrashRow[]> {
  const rows: CrashRow[] = [];
  for (const [window, when] of Object.entries(crashWindows)) {
    terminal.note(line`${window}: ${when}`);
    rows.push(await crashRow(scene, window as CrashWindow));
  }
  return rows;
}
