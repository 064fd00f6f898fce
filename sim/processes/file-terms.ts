import type { Digest, RunId } from "../../src/core/values/ids.ts";
import type { FileConfig } from "./file-context.ts";
import { runId } from "./run-worker.ts";

/** The rules of a process or a run, and the tools that the process offers or the run needs. */
export interface FileTerms {
  readonly rules: Digest;
  readonly offers: readonly string[];
}

/** Returns the terms of a process: each has the next rules, and of the processes with equal rules each the next tool. */
export function processTerms({ rules, tools }: FileConfig, number: number): FileTerms {
  const tool = tools[Math.floor(number / rules.length) % Math.max(1, tools.length)];
  return { rules: rules[number % rules.length] as Digest, offers: tool === undefined ? [] : [tool] };
}

/** Returns the terms of a run: those of one of the first processes, so that a process can always execute it. */
export function runTerms(config: FileConfig, run: RunId): FileTerms {
  const number = Number(run.slice(runId(0).length - 1));
  const sets = config.rules.length;
  const set = number % sets;
  const processesOfSet = Math.ceil((config.processes - set) / sets);
  return processTerms(config, set + sets * (Math.floor(number / sets) % processesOfSet));
}
