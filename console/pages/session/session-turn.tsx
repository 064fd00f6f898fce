import type { VNode } from "preact";
import type { Json } from "../../../src/core/values/json.ts";
import type { SessionModelCall, SessionTurn } from "../../../src/engine/api/open-run-api.ts";
import { pagePaths } from "../../../src/http-api/page-paths.ts";
import { JsonView } from "../../components/json-view.tsx";
import { SafeText } from "../../components/safe-text.tsx";
import type { LoadedRun } from "../run/use-run.ts";
import { LongText } from "./long-text.tsx";
import { answerTexts, readMessage } from "./message-text.ts";
import { SessionCallPart } from "./session-call.tsx";

interface SessionTurnProps {
  readonly turn: SessionTurn;
  /** A branch of the conversation has left the answer. */
  readonly isLeft: boolean;
  readonly loaded: LoadedRun;
  readonly onDecided: () => unknown;
}

/** A turn: the new messages, the answer of the model, and the calls that it asked for. */
export function SessionTurnPart({ turn, isLeft, loaded, onDecided }: SessionTurnProps): VNode {
  const { model, calls } = turn;
  return (
    <li class={isLeft ? "turn turn-left" : "turn"}>
      {isLeft && (
        <p class="turn-note soft small">The conversation went another way after this. Its acts stay as they are.</p>
      )}
      {model !== null && <ModelCallPart model={model} run_id={loaded.view.run_id} />}
      {calls.map((call) => (
        <SessionCallPart key={call.step_id} call={call} loaded={loaded} onDecided={onDecided} />
      ))}
    </li>
  );
}

const speakers = { person: "Message", instructions: "Instructions", other: "Other" } as const;

/** Messages that repeat answers and results are left out: the turns before this one show them. */
function ModelCallPart({ model, run_id }: { readonly model: SessionModelCall; readonly run_id: string }): VNode {
  const messages = model.messages.map((message) => ({ message, ...readMessage(message) }));
  const texts = model.answer === null ? [] : answerTexts(model.answer);
  return (
    <>
      {messages.map(({ message, role, texts: said }, at) =>
        role === "model" || role === "results" ? null : (
          <div key={at} class={`said said-${role}`}>
            <p class="speaker">{speakers[role]}</p>
            {said.length === 0 ? (
              <JsonView value={message} label="Message" foldFrom={2} />
            ) : (
              said.map((text, index) => <LongText key={index} text={text} />)
            )}
          </div>
        ),
      )}
      <div class="said said-model">
        <p class="speaker">
          Model{" "}
          {model.lane !== "main" && (
            <span class="pill">
              <SafeText text={model.lane} />
            </span>
          )}{" "}
          <a class="small" href={pagePaths.step(run_id, model.step_id)}>
            <SafeText text={modelName(model) ?? model.step_id} />
          </a>
        </p>
        {texts.map((text, at) => (
          <LongText key={at} text={text} />
        ))}
        {model.answer === null && <p class="soft">There is no answer yet, or its content was not recorded.</p>}
        <details class="raw">
          <summary>As it was sent and answered</summary>
          <JsonView
            value={{ request: model.request, messages: model.messages, answer: model.answer } as unknown as Json}
            label="Request and answer"
            foldFrom={2}
          />
        </details>
      </div>
    </>
  );
}

function modelName({ request }: SessionModelCall): string | null {
  return typeof request.model === "string" ? request.model : null;
}
