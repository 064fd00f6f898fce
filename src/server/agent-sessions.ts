import { randomBytes } from "node:crypto";
import { isPlainObject } from "../core/json/plain-object.ts";
import { FaultError, fault } from "../core/values/fault.ts";
import type { JsonObject } from "../core/values/json.ts";
import type { Engine, PrincipalInput } from "../engine/api/engine-api.ts";
import type { ModelAnswer, ModelCallOptions } from "../engine/api/model-api.ts";
import type { OpenRun, OpenRunOptions } from "../engine/api/open-run-api.ts";
import { digestOfJson } from "../engine/ports/digest.ts";
import { httpLimits } from "./http-limits.ts";

/** A model call that the agent of a session makes itself: its answer is recorded when the agent sends it. */
interface PendingModelCall {
  readonly owner: string;
  readonly run_id: string;
  readonly token: string;
  /** True: the agent was started again since, so that it does not have the token. */
  isLeft: boolean;
  answer(given: unknown): void;
  fail(error: Error): void;
  readonly recorded: Promise<ModelAnswer>;
}

/** The agent asks the model itself, and sends the answer with this token. */
export interface BegunModelCall {
  readonly go: true;
  readonly token: string;
}

type OpeningTerms = Omit<OpenRunOptions, "principal">;

/**
 * The open runs that this process holds for agents. The id of a session contains its opening terms, so that any server
 * of the store opens it again; it is no secret and gives no right.
 */
export class AgentSessions {
  readonly #engine: Engine;
  readonly #open = new Map<string, Promise<OpenRun>>();
  readonly #modelCalls = new Map<string, PendingModelCall>();
  /** The same calls by what was asked. */
  readonly #asked = new Map<string, PendingModelCall>();

  /** When the server stops, model calls without an answer fail, so that their runs can be released. */
  constructor(engine: Engine, stopping: AbortSignal) {
    this.#engine = engine;
    const failed = new FaultError(fault("ENGINE_CLOSED", "the server stops; send the request again"));
    const failAll = () => {
      for (const { fail } of this.#modelCalls.values()) fail(failed);
    };
    stopping.addEventListener("abort", failAll, { once: true });
  }

  /** Opens a session, also if this process has it open: the agent may have been started again. */
  async open(
    principal: PrincipalInput,
    terms: OpeningTerms,
  ): Promise<{ readonly session_id: string; readonly run: OpenRun }> {
    const session_id = Buffer.from(JSON.stringify(terms)).toString("base64url");
    const opening = this.#engine.openRun({ ...terms, principal });
    this.#keep(keyOf(principal, session_id), opening);
    const run = await opening;
    for (const call of this.#modelCalls.values())
      if (call.owner === ownerOf(principal) && call.run_id === run.run_id) call.isLeft = true;
    return { session_id, run };
  }

  /** Returns the open run of a session id. */
  find(principal: PrincipalInput, session_id: string): Promise<OpenRun> {
    const key = keyOf(principal, session_id);
    const known = this.#open.get(key);
    if (known !== undefined) return known;
    const opening = this.#engine.openRun({ ...readTerms(session_id), principal });
    this.#keep(key, opening);
    return opening;
  }

  forget(principal: PrincipalInput, session_id: string): void {
    this.#open.delete(keyOf(principal, session_id));
  }

  #keep(key: string, opening: Promise<OpenRun>): void {
    const [oldest] = this.#open.keys();
    if (this.#open.size >= httpLimits.sessions && oldest !== undefined) this.#open.delete(oldest);
    this.#open.delete(key);
    this.#open.set(key, opening);
    opening.catch(() => {
      if (this.#open.get(key) === opening) this.#open.delete(key);
    });
  }

  /**
   * Returns the recorded answer to a request, or a token with which the agent sends the answer of the model. A request
   * that is asked already waits for that answer, and gets the same token if it is late, or if its agent has restarted.
   */
  async beginModelCall(
    principal: PrincipalInput,
    run: OpenRun,
    request: JsonObject,
    options: ModelCallOptions,
  ): Promise<ModelAnswer | BegunModelCall> {
    const owner = ownerOf(principal);
    const asked = digestOfJson([owner, run.run_id, request, options as unknown as JsonObject]);
    const earlier = this.#asked.get(asked);
    if (earlier !== undefined) return answerOrToken(earlier);
    const token = randomBytes(24).toString("base64url");
    return new Promise((resolve, reject) => {
      const ask = () =>
        new Promise((answer, fail) => {
          const call = { owner, run_id: run.run_id, token, isLeft: false, answer, fail, recorded };
          this.#modelCalls.set(token, call);
          this.#asked.set(asked, call);
          resolve({ go: true, token });
        });
      const recorded = run.recordModelCall(request, ask, options);
      recorded.then(resolve, reject).finally(() => {
        this.#modelCalls.delete(token);
        if (this.#asked.get(asked)?.token === token) this.#asked.delete(asked);
      });
    });
  }

  /** Records the answer of a model, or that the request failed, and returns the recorded answer. */
  async endModelCall(
    principal: PrincipalInput,
    token: string,
    report: { readonly answer: unknown } | { readonly failed: string },
  ): Promise<ModelAnswer> {
    const pending = this.#modelCalls.get(token);
    if (pending === undefined || pending.owner !== ownerOf(principal))
      throw new FaultError(
        fault(
          "NOT_POSSIBLE",
          "this server has no such model call; send the request again, and use the token of its answer",
        ),
      );
    if ("answer" in report) pending.answer(report.answer);
    else pending.fail(new FaultError(fault("TEMPORARY_PROVIDER_ERROR", report.failed)));
    return pending.recorded;
  }
}

async function answerOrToken({ isLeft, recorded, token }: PendingModelCall): Promise<ModelAnswer | BegunModelCall> {
  const begun = { go: true, token } as const;
  if (isLeft) return begun;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<BegunModelCall>((resolve) => {
    timer = setTimeout(() => resolve(begun), httpLimits.waitMs);
  });
  return Promise.race([recorded, late]).finally(() => clearTimeout(timer));
}

function ownerOf({ tenant, id, kind }: PrincipalInput): string {
  return JSON.stringify([tenant, kind, id]);
}

function keyOf(principal: PrincipalInput, session_id: string): string {
  return `${JSON.stringify(principal)} ${session_id}`;
}

/** Reads the opening terms in a session id. The engine checks their fields like those of any opening. */
function readTerms(session_id: string): OpeningTerms {
  const unknown = new FaultError(
    fault("INVALID_INPUT", "this is no session id; open the session with POST /v1/sessions"),
  );
  try {
    const terms: unknown = JSON.parse(Buffer.from(session_id, "base64url").toString("utf8"));
    if (isPlainObject(terms) && !("principal" in terms)) return terms as unknown as OpeningTerms;
  } catch {
    throw unknown;
  }
  throw unknown;
}
