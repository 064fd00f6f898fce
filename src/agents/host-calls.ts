import type { CallAnswer } from "../core/run/call-answer.ts";
import { notDone } from "../core/values/fault.ts";
import { sameJson } from "../core/values/json.ts";
import type { HostReport } from "../engine/api/open-run-api.ts";
import { outputAsPlainData } from "../engine/ports/output-as-plain-data.ts";
import type { CallsMadeAgain, ReportedCall } from "./calls-made-again.ts";
import type { ToolTerms } from "./declared-effects.ts";
import type { FileCheckpoints } from "./file-checkpoints.ts";
import type { FrameworkBeginOptions, Governed } from "./governed.ts";

/** A call that the host makes itself. */
interface BegunHostCall {
  readonly token: string;
  readonly agent: string | undefined;
  readonly release: () => Promise<void>;
}

/** The host may make the call. `input`: the input that a person edited. Null: the input of the host is unchanged. */
export interface AllowedHostCall {
  readonly go: true;
  readonly input: unknown;
}

/** Judges the calls that a host makes itself, and records how they ended. Files are captured around each of them. */
export class HostCalls {
  readonly #governed: Governed;
  readonly #calls: CallsMadeAgain;
  readonly #files: FileCheckpoints | null;
  readonly #begun = new Map<string, BegunHostCall>();

  constructor(governed: Governed, calls: CallsMadeAgain, files: FileCheckpoints | null) {
    this.#governed = governed;
    this.#calls = calls;
    this.#files = files;
  }

  /** Returns whether the host may make the call. Throws if its files cannot be captured: it is not made then. */
  async begin(
    reported: ReportedCall,
    terms: ToolTerms | null,
    options: FrameworkBeginOptions,
  ): Promise<AllowedHostCall | CallAnswer> {
    const { id, tool, input, agent } = reported;
    const call = this.#calls.find(reported);
    this.#governed.declare([{ name: tool, ...(terms !== null && { terms }) }]);
    const answer = await this.#governed.begin(call, options);
    if (!("go" in answer)) {
      this.#calls.answered(id, agent, answer);
      return answer;
    }
    const { token } = answer;
    try {
      const release = (await this.#files?.begin(id, tool)) ?? (async () => {});
      this.#begun.set(id, { token, agent, release });
    } catch (error) {
      await this.#governed.run.endCall(token, { notDone: { message: (error as Error).message } });
      throw error;
    }
    return { go: true, input: sameJson(answer.input, outputAsPlainData(input).value) ? null : answer.input };
  }

  /**
   * Puts a call on record that the host answered itself. `terms`: how its tool is declared; null: there is no such tool.
   * The input is proposed as a text, which no known tool takes.
   */
  async refuse({ id, tool, input, agent }: ReportedCall, terms: ToolTerms | null, message: string): Promise<void> {
    if (terms !== null) this.#governed.declare([{ name: tool, terms }]);
    const given = terms === null ? input : JSON.stringify(outputAsPlainData(input ?? {}).value);
    await this.#governed.call({ id, tool, input: given, ...(agent !== undefined && { turn: agent }) }, () => {
      throw notDone("CALL_NOT_MADE", message);
    });
  }

  /** Records how a call ended. A call that was not begun here is left alone. */
  async end(id: string, report: HostReport): Promise<void> {
    const begun = this.#begun.get(id);
    this.#begun.delete(id);
    if (begun === undefined) return;
    try {
      this.#calls.answered(id, begun.agent, await this.#governed.run.endCall(begun.token, report));
    } finally {
      await begun.release();
    }
  }
}
