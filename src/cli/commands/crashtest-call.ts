import { resolve } from "node:path";
import { Command, Option } from "commander";
import { type CrashWindow, crashWindows } from "../../testing/crashtest/crash-window.ts";
import { runCrashTestCall } from "../../testing/crashtest/run-crash-test-call.ts";
import type { Invocation } from "../invocation.ts";
import { loadConfigWithTools, proposerOf } from "../with-engine.ts";

/** The command that `writ crashtest` starts in a process of its own and kills. Help does not list it. */
export const crashtestCallName = "crashtest-call";

export function crashtestCallCommand(invocation: Invocation): Command {
  const command = new Command(crashtestCallName)
    .argument("<folder>")
    .addOption(new Option("--kill <window>").choices(Object.keys(crashWindows)).default("none"));
  return invocation.withAction<{ readonly kill: CrashWindow }>(command, async ([given = ""], { kill, ...options }) => {
    const { cwd } = invocation.host;
    const config = await loadConfigWithTools(options, cwd);
    const { tools, guards = [], limits = {}, durability = "power" } = config;
    const report = await runCrashTestCall({
      ...{ folder: resolve(cwd, given), kill, tools, guards, limits, durability },
      principal: proposerOf(options, config),
    });
    invocation.terminal.printJson(report);
    return 0;
  });
}
