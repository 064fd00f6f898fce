export { type NotifyOptions, type NotifySettings, notifyPeople } from "./notify/notify-people.ts";
export type {
  EmailRecipient,
  MessageKind,
  Recipient,
  RecipientTerms,
  SlackRecipient,
  WebhookRecipient,
} from "./notify/recipient.ts";
export type { SecretRef } from "./notify/secret-ref.ts";
