import type { Governed } from "../agents/governed.ts";
import { modelText } from "../core/run/call-answer.ts";
import { FaultError, fault } from "../core/values/fault.ts";
import type { CheckpointRef } from "../engine/api/state-api.ts";
import { mayChangeFiles } from "./built-in-tools.ts";
import type { CallCapture } from "./governed-hooks.ts";

const FILES_TOOL = "claude.files";
const DAY_MS = 24 * 60 * 60 * 1000;

/** Captures the files of a resource around each call of Claude Code that may change them. */
export class FileCheckpoints implements CallCapture {
  readonly #governed: Governed;

  constructor(governed: Governed, resource: string) {
    this.#governed = governed;
    const terms = { effect: "writes", resources: { [resource]: "watched" }, timeoutMs: DAY_MS } as const;
    governed.declare([{ name: FILES_TOOL, description: "Keeps the files from before a call of Claude Code", terms }]);
  }

  /** The capture is a call of its own, which lasts as long as the call of Claude Code. */
  async begin(id: string, tool: string): Promise<() => Promise<void>> {
    if (!mayChangeFiles(tool)) return async () => {};
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    let begin = () => {};
    const begun = new Promise<null>((resolve) => {
      begin = () => resolve(null);
    });
    const capturing = this.#governed.call({ id: idOf(id), tool: FILES_TOOL, input: { call: id, tool } }, async () => {
      begin();
      await ended;
      return null;
    });
    const refused = await Promise.race([begun, capturing]);
    if (refused !== null)
      throw new Error(`the files could not be captured before the call: ${modelText(refused).text}`);
    return async () => {
      end();
      await capturing;
    };
  }

  /** Returns the checkpoint directly before or after a call. */
  async find(id: string, side: CheckpointRef["side"]): Promise<CheckpointRef> {
    const calls = (await this.#governed.run.turns()).flatMap((turn) => turn.calls);
    const found = calls.find((call) => call.id === idOf(id));
    if (found === undefined) throw new FaultError(fault("CHECKPOINT_NOT_FOUND", `no files were captured for ${id}`));
    return { runId: this.#governed.run.run_id, stepId: found.step_id, side };
  }
}

const idOf = (id: string) => `files-${id}`;
