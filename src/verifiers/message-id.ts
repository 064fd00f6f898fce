import { FaultError, fault } from "../core/fault.ts";
import type { Instant } from "../core/id.ts";
import type { Probe } from "../core/tool.ts";
import { reasonOf, type Seen, unknown } from "./seen.ts";

const keyForm = /^[0-9a-f]{64}$/;
const domainForm = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/i;

/**
 * The Message-ID that an act's key stands for. Sent with the mail, it lets anyone find out later whether it went out, as
 * long as the provider keeps it: one that puts its own in its place must be searched by other means.
 */
export function messageIdFor(key: string, domain: string): string {
  if (!keyForm.test(key)) {
    const message = "a Message-ID is made from the key of an act, which only acts receive; declare the tool as acts";
    throw new FaultError(fault("TOOL_INVALID", message));
  }
  if (!domainForm.test(domain)) {
    const message = `${domain} is no domain for a Message-ID; use one that is yours, such as mail.example.org`;
    throw new FaultError(fault("CONFIG_INVALID", message));
  }
  return `<writ.${key}@${domain.toLowerCase()}>`;
}

/** Where sent mail can be looked up: a Sent folder, the receiving mailbox, a provider's search. */
export type MailSearch = (messageId: string, asked: MailSearchOptions) => Promise<MailSighting>;

export interface MailSearchOptions {
  /** When the act was last started. A mail may be older than that if an earlier attempt sent it. */
  readonly since: Instant;
  readonly signal: AbortSignal;
}

/** `nothing` claims that the whole place was searched. A search that cannot claim that says unknown. */
export type MailSighting =
  | { readonly saw: "mail"; readonly where: string }
  | { readonly saw: "nothing" }
  | { readonly saw: "unknown"; readonly why: string };

export interface SeenMail {
  readonly message_id: string;
  /** Where the search found it. */
  readonly where: string;
}

export interface SeenByMessageId<Output> {
  readonly search: MailSearch;
  /** The domain that the tool gave to `messageIdFor`. */
  readonly domain: string;
  /** What the tool would have answered. Default: `{ message_id }`. */
  readonly output?: (mail: SeenMail) => Output;
}

/** A verifier for mail that was sent with `messageIdFor(key, domain)`: happened if it is found, absent if the whole place was searched. */
export function seenByMessageId<Output = { message_id: string }>(
  options: SeenByMessageId<Output>,
): (probe: Pick<Probe, "key" | "since" | "signal">) => Promise<Seen<Output>> {
  const { search, domain, output = ({ message_id }) => ({ message_id }) as Output } = options;
  return async ({ key, since, signal }) => {
    try {
      const message_id = messageIdFor(key, domain);
      const sighting = await search(message_id, { since, signal });
      if (sighting.saw === "mail") return { saw: "happened", output: output({ message_id, where: sighting.where }) };
      if (sighting.saw === "unknown") return sighting;
      return signal.aborted ? unknown("the search was stopped") : { saw: "absent" };
    } catch (error) {
      return unknown(reasonOf(error));
    }
  };
}
