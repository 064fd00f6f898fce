import type { Probe } from "../core/tool/tool.ts";
import { FaultError, fault } from "../core/values/fault.ts";
import type { Instant } from "../core/values/ids.ts";
import { thrownMessage, unknownResult, type VerifierResult } from "./verifier-result.ts";

const keyPattern = /^[0-9a-f]{64}$/;
const domainPattern = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/i;

/**
 * Makes a Message-ID from the key of an act. If the tool sends it with the mail, a verifier can later find the mail by
 * it. This does not work with a provider that replaces the Message-ID; search such a provider by other means.
 */
export function messageIdFor(key: string, domain: string): string {
  if (!keyPattern.test(key)) {
    const message = "a Message-ID needs the key of an act; declare the tool with the effect acts";
    throw new FaultError(fault("TOOL_INVALID", message));
  }
  if (!domainPattern.test(domain)) {
    const message = `${domain} is not a valid domain for a Message-ID; use a domain that you own, such as mail.example.org`;
    throw new FaultError(fault("CONFIG_INVALID", message));
  }
  return `<writ.${key}@${domain.toLowerCase()}>`;
}

/**
 * Searches for a sent mail, for example in a Sent folder, in the receiving mailbox or with the search of a provider.
 */
export type MailSearch = (messageId: string, options: MailSearchOptions) => Promise<MailSighting>;

export interface MailSearchOptions {
  /** The time of the last start of the act. The mail may be older if an earlier attempt sent it. */
  readonly since: Instant;
  readonly signal: AbortSignal;
}

/** `nothing` means that the search was complete. A search that may have missed mail returns `unknown`. */
export type MailSighting =
  | { readonly saw: "mail"; readonly where: string }
  | { readonly saw: "nothing" }
  | { readonly saw: "unknown"; readonly why: string };

export interface FoundMail {
  readonly message_id: string;
  /** The location that the search returned. */
  readonly where: string;
}

export interface SeenByMessageIdOptions<Output> {
  readonly search: MailSearch;
  /** The domain that the tool passes to `messageIdFor`. */
  readonly domain: string;
  /** Makes the output of the tool from the mail that was found. Default: `{ message_id }`. */
  readonly output?: (mail: FoundMail) => Output;
}

/**
 * A verifier for mail sent with `messageIdFor(key, domain)`: `happened` if it is found, `absent` after a complete
 * search.
 */
export function seenByMessageId<Output = { message_id: string }>(
  options: SeenByMessageIdOptions<Output>,
): (probe: Pick<Probe, "key" | "since" | "signal">) => Promise<VerifierResult<Output>> {
  const { search, domain, output = ({ message_id }) => ({ message_id }) as Output } = options;
  return async ({ key, since, signal }) => {
    try {
      const message_id = messageIdFor(key, domain);
      const sighting = await search(message_id, { since, signal });
      if (sighting.saw === "mail") return { saw: "happened", output: output({ message_id, where: sighting.where }) };
      if (sighting.saw === "unknown") return sighting;
      return signal.aborted ? unknownResult("the search was stopped") : { saw: "absent" };
    } catch (error) {
      return unknownResult(thrownMessage(error));
    }
  };
}
