import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { onTestFinished } from "vitest";
import { claudeSdkFolder, claudeSdkName } from "../repo/claude-sdk-folder.ts";

/** The Claude Agent SDK, as far as the tests use it. */
export interface ClaudeSdk {
  query(given: { readonly prompt: string; readonly options: object }): AsyncIterable<ClaudeMessage>;
  tool(
    name: string,
    description: string,
    shape: object,
    handler: (input: never, extra?: never) => Promise<object>,
  ): object;
  createSdkMcpServer(options: object): object;
}

export interface ClaudeMessage {
  readonly type: string;
  readonly subtype?: string;
  readonly result?: string;
  readonly [field: string]: unknown;
}

export async function loadClaudeSdk(): Promise<ClaudeSdk> {
  const path = createRequire(join(claudeSdkFolder as string, "package.json")).resolve(claudeSdkName);
  return (await import(/* @vite-ignore */ pathToFileURL(path).href)) as ClaudeSdk;
}

/** Loads zod as the SDK has it, because it recognises only its own. */
export async function loadZod(): Promise<{ string(): object; number(): object }> {
  const path = createRequire(join(claudeSdkFolder as string, "package.json")).resolve("zod");
  return ((await import(/* @vite-ignore */ pathToFileURL(path).href)) as { z: { string(): object; number(): object } })
    .z;
}

/** A folder with a working tree, and a home for Claude Code that has no settings. */
export function newWorkplace(): { readonly folder: string; readonly work: string; readonly home: string } {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "writ-claude-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const [work, home] = [join(folder, "work"), join(folder, "home")];
  for (const path of [work, home]) mkdirSync(path);
  return { folder, work, home };
}

/** Options for Claude Code with a scripted model and without any settings of this machine. */
export function isolatedOptions(work: string, home: string, origin: string): object {
  return {
    cwd: work,
    model: "claude-scripted",
    maxTurns: 12,
    settingSources: [],
    strictMcpConfig: true,
    env: {
      PATH: process.env.PATH,
      HOME: home,
      CLAUDE_CONFIG_DIR: home,
      ANTHROPIC_BASE_URL: origin,
      ANTHROPIC_API_KEY: "none",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      CLAUDE_CODE_MAX_RETRIES: "0",
    },
  };
}
