import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FaultError, fault } from "../../core/values/fault.ts";
import type { Json } from "../../core/values/json.ts";

/** The call that a process of a crash test makes, written to the temporary folder in which it makes it. */
export interface CrashTask {
  readonly tool: string;
  readonly input: Json;
  /** The time that the act may take to come to rest. */
  readonly patience_ms: number;
}

/** A name that no other store has, so that a store of a user is never taken for a temporary one. */
export const crashTestStorePath = (folder: string): string => join(folder, "crashtest.db");

const taskFile = (folder: string): string => join(folder, "crashtest.json");

export function writeTask(folder: string, task: CrashTask): void {
  writeFileSync(taskFile(folder), JSON.stringify(task), { flag: "wx" });
}

/** Reads the task of a folder. A folder without a task is refused, so that no tool is called by mistake. */
export function readTask(folder: string): CrashTask {
  try {
    return JSON.parse(readFileSync(taskFile(folder), "utf8")) as CrashTask;
  } catch (cause) {
    const message = `${folder} is not a folder of a crash test; start one with writ crashtest or runCrashTest`;
    throw new FaultError(fault("INVALID_INPUT", message), { cause });
  }
}
