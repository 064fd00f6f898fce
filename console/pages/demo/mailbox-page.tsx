import type { VNode } from "preact";
import { EmptyState } from "../../components/empty-state.tsx";
import { PageHeader } from "../../components/page-header.tsx";
import { ProblemNote } from "../../components/problem-note.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { SafeText } from "../../components/safe-text.tsx";
import type { ReceivedMail } from "./demo-state.ts";
import { useDemo } from "./use-demo.ts";
import "./demo.css";

/** The mails that the mail server of the demo has really received, newest first. */
export function MailboxPage(): VNode {
  const { value, problem, reload } = useDemo();
  const mails = value?.mails ?? [];
  return (
    <>
      <PageHeader
        title="Mailbox"
        beside={<span class="count">{mails.length}</span>}
        actions={<a href="/demo">Back to the demo</a>}
      >
        <span>
          Mails that a real SMTP server on this machine has received. It runs outside of Writ, and survives every kill.
        </span>
      </PageHeader>
      {value === null && <ProblemNote problem={problem} onRetry={reload} />}
      {value !== null && mails.length === 0 && (
        <EmptyState title="No mail has arrived">
          Start the mail of <a href="/demo">the demo</a>, and approve it. It appears here when it has been received.
        </EmptyState>
      )}
      <div class="stack">
        {mails.toReversed().map((mail) => (
          <Mail key={`${mail.message_id} ${mail.received_at}`} mail={mail} />
        ))}
      </div>
    </>
  );
}

function Mail({ mail }: { readonly mail: ReceivedMail }): VNode {
  return (
    <article class="panel">
      <div class="panel-head">
        <h2>
          <SafeText text={mail.subject} />
        </h2>
        <span class="soft small">
          <RelativeTime at={mail.received_at} />
        </span>
      </div>
      <div class="panel-body stack">
        <dl class="facts small">
          {(["from", "to", "message_id"] as const).map((field) => (
            <div class="demo-fact" key={field}>
              <dt>{{ from: "From", to: "To", message_id: "Message-ID" }[field]}</dt>
              <dd>
                <SafeText text={mail[field]} />
              </dd>
            </div>
          ))}
        </dl>
        <p class="demo-mail-text">
          <SafeText text={mail.body} />
        </p>
      </div>
    </article>
  );
}
