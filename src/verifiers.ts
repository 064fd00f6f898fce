export { type MaildirOptions, maildir } from "./verifiers/maildir.ts";
export {
  type FoundMail,
  type MailSearch,
  type MailSearchOptions,
  type MailSighting,
  messageIdFor,
  type SeenByMessageIdOptions,
  seenByMessageId,
} from "./verifiers/seen-by-message-id.ts";
export { type SeenFileOptions, seenFile, type WrittenFile } from "./verifiers/seen-file.ts";
export type { VerifierResult } from "./verifiers/verifier-result.ts";
