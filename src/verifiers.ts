export { type SeenFile, seenFile, type WrittenFile } from "./verifiers/file.ts";
export { type MaildirOptions, maildir } from "./verifiers/maildir.ts";
export {
  type MailSearch,
  type MailSearchOptions,
  type MailSighting,
  messageIdFor,
  type SeenByMessageId,
  type SeenMail,
  seenByMessageId,
} from "./verifiers/message-id.ts";
export type { Seen } from "./verifiers/seen.ts";
