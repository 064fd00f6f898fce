import type { Timers } from "../core/ports/clock.ts";
import { FaultError, fault } from "../core/values/fault.ts";
import type { DeliveredNotice } from "../engine/api/delivered-notice.ts";
import { backgroundTimers } from "../engine/ports/system-ports.ts";
import { email } from "./email.ts";
import { messageItem } from "./person-message.ts";
import { notifyProblems, personKinds, type Recipient } from "./recipient.ts";
import { type QueueTerms, RecipientQueue, type SendMessage } from "./recipient-queue.ts";
import { readSecret } from "./secret-ref.ts";
import { slack } from "./slack.ts";
import { webhook } from "./webhook.ts";

/** The recipients of messages, and the address of the server that messages link to. */
export interface NotifySettings {
  /** Read for each message, so it may change. */
  readonly url: string;
  readonly recipients: readonly Recipient[];
}

export interface NotifyOptions extends NotifySettings {
  /** Receives why a message did not arrive. It is sent again. */
  readonly onProblem?: (message: string) => void;
  /** The variables that secrets are in. Default: those of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly now?: () => number;
  readonly timers?: Timers;
}

/**
 * Returns the `onNotice` of an engine that tells people: of gates that wait (with `gateNotices`), acts in doubt, budgets
 * and parked runs. A notice is delivered when every recipient that it concerns has accepted a message with it.
 */
export async function notifyPeople(options: NotifyOptions): Promise<(notice: DeliveredNotice) => Promise<void>> {
  const problems = notifyProblems({ url: options.url, recipients: options.recipients });
  if (problems.length > 0) throw new FaultError(fault("CONFIG_INVALID", `notify: ${problems.join("; ")}`));
  const { env = process.env, now = Date.now, timers = backgroundTimers, onProblem = () => {} } = options;
  const terms: QueueTerms = { now, timers, onProblem };
  const queues = await Promise.all(
    options.recipients.map(async (recipient) => ({
      recipient,
      queue: new RecipientQueue(await senderOf(recipient, env, now), terms),
    })),
  );
  return async (notice) => {
    const item = messageItem(notice, options.url);
    const concerned = queues.filter(({ recipient: { tenant = item.tenant, kinds = personKinds } }) => {
      return tenant === item.tenant && (kinds as readonly string[]).includes(item.kind);
    });
    const offers = await Promise.allSettled(concerned.map(({ queue }) => queue.offer(item)));
    const failed = offers.find((offer) => offer.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  };
}

async function senderOf(
  recipient: Recipient,
  env: Readonly<Record<string, string | undefined>>,
  now: () => number,
): Promise<SendMessage> {
  if ("webhook" in recipient) return webhook(recipient.webhook, readSecret(recipient.secret, env), now);
  if ("slack" in recipient) return slack(readSecret(recipient.slack, env));
  return email(recipient.email, recipient.from, readSecret(recipient.smtp, env));
}
