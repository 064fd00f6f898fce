import { modelText } from "../core/run/call-answer.ts";
import { FaultError, fault } from "../core/values/fault.ts";
import type { CheckpointRef } from "../engine/api/state-api.ts";
import type { Governed } from "./governed.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** The files that are captured, and for which calls. */
export interface WatchedFiles {
  /** The name of the resource of the engine. */
  readonly resource: string;
  /** The name of the tool on record whose calls are the captures. */
  readonly captureTool: string;
  /** True if a tool can change the files. */
  mayChange(tool: string): boolean;
}

/** Captures the files of a resource around each call of a host that may change them, so that a person can restore them. */
export class FileCheckpoints {
  readonly #governed: Governed;
  readonly #files: WatchedFiles;

  constructor(governed: Governed, files: WatchedFiles) {
    this.#governed = governed;
    this.#files = files;
    const terms = { effect: "writes", resources: { [files.resource]: "watched" }, timeoutMs: DAY_MS } as const;
    governed.declare([{ name: files.captureTool, description: "Keeps the files from before a call", terms }]);
  }

  /**
   * Captures the files before a call, and returns the function that ends the capture. Throws if that fails; then the call
   * is not made. The capture is a call of its own, which lasts as long as the call of the host.
   */
  async begin(id: string, tool: string): Promise<() => Promise<void>> {
    if (!this.#files.mayChange(tool)) return async () => {};
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    let begin = () => {};
    const begun = new Promise<null>((resolve) => {
      begin = () => resolve(null);
    });
    const call = { id: idOf(id), tool: this.#files.captureTool, input: { call: id, tool } };
    const capturing = this.#governed.call(call, async () => {
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
