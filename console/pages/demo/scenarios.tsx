import type { ComponentChildren, VNode } from "preact";
import type { DemoAction } from "./demo-api.ts";
import { type DemoState, lastStart } from "./demo-state.ts";
import { ScenarioCard } from "./scenario-card.tsx";
import { TreeFiles } from "./tree-files.tsx";

interface ScenariosProps {
  readonly state: DemoState;
  readonly isReachable: boolean;
  readonly onAct: (action: DemoAction) => void;
  readonly onRestored: () => void;
}

const walk = ["support", "outreach", "files", "payment"] as const;

/** Returns the first scenario of the walk that was not started, or null. */
function nextOf({ started }: DemoState): (typeof walk)[number] | null {
  const isStarted = (name: string) => started.some(({ scenario }) => scenario === name);
  return walk.find((name) => !isStarted(name) && !(name === "payment" && isStarted("wire"))) ?? null;
}

/** The steps of the walk, in order. */
export function Scenarios(props: ScenariosProps): VNode {
  return (
    <>
      <Refund {...props} />
      <Mail {...props} />
      <Files {...props} />
      <Payment {...props} />
      <KillAgain />
    </>
  );
}

function Start({
  action,
  isNext,
  isReachable,
  onAct,
  children,
}: Pick<ScenariosProps, "isReachable" | "onAct"> & {
  readonly action: DemoAction;
  /** The step of the walk that comes next stands out. */
  readonly isNext: boolean;
  readonly children: ComponentChildren;
}): VNode {
  return (
    <button
      type="button"
      class={isNext ? "button" : "button button-quiet"}
      disabled={!isReachable}
      onClick={() => onAct(action)}
    >
      {children}
    </button>
  );
}

function Refund({ state, ...props }: ScenariosProps): VNode {
  const last = lastStart(state, "support");
  return (
    <ScenarioCard
      number={1}
      title="An agent asks for a refund"
      about="A support agent reads an order, computes the amount and asks to pay it back. Reading runs by itself. Paying is held for you."
      steps={[
        "Start the agent, and open its conversation.",
        "Look at the held call: it shows exactly what will run. Approve it, edit it or reject it.",
      ]}
      last={last}
      actions={
        <Start action="support" isNext={nextOf(state) === "support"} {...props}>
          {last === null ? "Start the agent" : "Start another one"}
        </Start>
      }
    />
  );
}

function Mail({ state, ...props }: ScenariosProps): VNode {
  const last = lastStart(state, "outreach");
  return (
    <ScenarioCard
      number={2}
      title="A mail, and a kill in the middle"
      about="Six steps write a mail to a professor. One step waits for your confirmation, and the last one for your approval, because it sends a real mail over SMTP."
      steps={[
        "Start the run, and confirm the draft.",
        <>
          Check <em>Kill it right after the next mail or payment</em> above, then approve the mail.
        </>,
        "The server dies after the mail has left. It starts again, asks the mailbox, and sends no second mail.",
      ]}
      last={last}
      actions={
        <Start action="outreach" isNext={nextOf(state) === "outreach"} {...props}>
          {last === null ? "Start the run" : "Start another one"}
        </Start>
      }
    />
  );
}

function Files({ state, onRestored, ...props }: ScenariosProps): VNode {
  const last = lastStart(state, "files");
  return (
    <ScenarioCard
      number={3}
      title="An agent edits files, and you restore them"
      about="An agent outside of the server lowers a price and deletes a draft in a folder on this machine. Every call is captured first."
      steps={[
        "Start it. The held call shows the difference before anything changes.",
        "Approve, and restore the files.",
      ]}
      last={last}
      actions={
        <Start action="files" isNext={nextOf(state) === "files"} {...props}>
          {last === null ? "Start the agent" : "Start it again"}
        </Start>
      }
    >
      <TreeFiles files={state.files} onRestored={onRestored} />
    </ScenarioCard>
  );
}

function Payment({ state, ...props }: ScenariosProps): VNode {
  const last = lastStart(state, "payment", "wire");
  return (
    <ScenarioCard
      number={4}
      title="A payment without an answer"
      about="The payment service books the payment and never answers. Paying again could pay twice, so Writ does not guess: the act is in doubt."
      steps={[
        "Pay an invoice: a verifier asks the service by the key of the call, and settles the doubt in some seconds.",
        "Pay by wire: nothing can be asked, so you look at the count of paid invoices and settle it.",
      ]}
      last={last}
      actions={
        <>
          <Start action="payment" isNext={nextOf(state) === "payment"} {...props}>
            Pay an invoice
          </Start>
          <Start action="wire" isNext={nextOf(state) === "payment"} {...props}>
            Pay by wire
          </Start>
        </>
      }
    />
  );
}

function KillAgain(): VNode {
  return (
    <ScenarioCard
      number={5}
      title="Kill it again"
      about="Start any of these, several at once if you like, and kill the server while they run."
      steps={[
        "Open a run and watch it continue after the kill.",
        <>
          Compare the counts above: <em>0 done twice</em> is the promise.
        </>,
      ]}
      last={null}
      actions={<a href="/runs">All runs</a>}
    />
  );
}
