import { randomUUID } from "node:crypto";
import { Command } from "commander";
import { nearestName } from "../../core/json/nearest-name.ts";
import type { Tool } from "../../core/tool/tool.ts";
import { toolGuaranteeText } from "../../core/tool/tool-guarantee-text.ts";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Json } from "../../core/values/json.ts";
import { ToolRegistry } from "../../engine/call/tool-registry.ts";
import { cel } from "../../expression/cel.ts";
import { runCrashTest } from "../../testing/crashtest/run-crash-test.ts";
import type { CrashWindowResult } from "../../testing/crashtest/run-crash-window.ts";
import { commandToPaste } from "../command-to-paste.ts";
import { crashTestLines } from "../crash-test-text.ts";
import { type GlobalOptions, helpExample, type Invocation, parsePositiveNumber } from "../invocation.ts";
import { readInline } from "../json-file.ts";
import { runCountCommand } from "../run-count-command.ts";
import { line } from "../safe-line.ts";
import { loadConfigWithTools, proposerOf } from "../with-engine.ts";
import { crashtestCallName } from "./crashtest-call.ts";

interface CrashtestOptions extends GlobalOptions {
  readonly input: string;
  readonly count: string;
  readonly patience?: number;
  readonly debug?: boolean;
}

export function crashtestCommand(invocation: Invocation): Command {
  const command = new Command("crashtest")
    .description("really call a tool that acts, kill the process at every point of the call, and count the effects")
    .argument("<tool>", "name of a tool of the config; see: writ tools")
    .requiredOption("--input <json>", "input of the call; {unique} in it is a different word in each call")
    .requiredOption("--count <command>", "shell command that prints the number of effects in the outside world")
    .option(
      "--patience <seconds>",
      "time that an act may take to be settled (default: derived from the tool's timeouts)",
      parsePositiveNumber,
    )
    .addHelpText(
      "after",
      helpExample(
        `writ crashtest mail.send --input '{"to":"test@example.org","body":"hi"}' --count "wc -l < outbox.txt"`,
      ),
    );
  return invocation.withAction<CrashtestOptions>(command, async ([name = ""], options) => {
    const { host, terminal } = invocation;
    const config = await loadConfigWithTools(options, host.cwd);
    const tool = findTool(name, new ToolRegistry(config.tools, cel));
    const rows = await testTool(invocation, tool, config.path, options);
    const ok = rows.every(({ verdict }) => verdict === "ok");
    const { version, effect } = tool;
    const guarantee = toolGuaranteeText(tool);
    const { tenant } = proposerOf(options, config);
    terminal.printResult({ tool: tool.name, version, effect, guarantee, ok, windows: rows }, () => [
      line`${tool.name}@${version}: ${guarantee}`,
      ...crashTestLines(rows, (store) => commandToPaste(host, { store, tenant }), terminal.style),
    ]);
    if (!ok) return 4;
    return rows.every(({ settled }) => settled) ? 0 : 3;
  });
}

async function testTool(
  { host, terminal }: Invocation,
  tool: Tool,
  config: string,
  { input, count, patience, tenant, debug }: CrashtestOptions,
): Promise<readonly CrashWindowResult[]> {
  const { cwd, env } = host;
  const interrupted = new AbortController();
  const removeListener = host.onInterrupt(() => interrupted.abort());
  const scope = ["--config", config, ...(tenant === undefined ? [] : ["--tenant", tenant])];
  try {
    return await runCrashTest({
      ...{ tool, cwd, env, signal: interrupted.signal },
      ...(patience !== undefined && { patienceMs: patience * 1000 }),
      newInput: () => parseInput(tool, input),
      countEffects: (signal) => runCountCommand(count, { cwd, env, signal }),
      command: ({ folder, kill }) => [...host.program, crashtestCallName, folder, "--json", "--kill", kill, ...scope],
      onWindow: (window, state) => terminal.note(line`${window}: ${state}`),
      onStderr: (chunk) => void (debug && host.stderr.write(chunk)),
    });
  } finally {
    removeListener();
  }
}

function findTool(name: string, registry: ToolRegistry): Tool {
  const tool = registry.get(name);
  if (tool !== undefined) return tool;
  const names = registry.callable.all().map((known) => known.name);
  const nearest = nearestName(name, names);
  const hint = nearest === null ? `there are ${names.join(", ")}` : `did you mean ${nearest}?`;
  throw new FaultError(fault("TOOL_UNKNOWN", `no tool is called ${name}; ${hint}`));
}

function parseInput(tool: Tool, given: string): Json {
  const input = readInline(given.replaceAll("{unique}", `crashtest-${randomUUID().slice(0, 8)}`), "--input");
  const parsed = tool.input.parse(input);
  if (parsed.ok) return input;
  throw new FaultError(
    fault("INVALID_INPUT", `--input does not fit ${tool.name}: ${parsed.fault.message}`, parsed.fault.detail),
  );
}
