/** The settings of a tool whose definition does not say otherwise. */
export const toolDefaults = {
  /** The timeout of a call. */
  timeoutMs: 30_000,
  /** The timeout of a call that asks a model. */
  modelTimeoutMs: 600_000,
  /** The timeout of a held request to use a verb, such as a retention, after its approval. */
  verbTimeoutMs: 3_600_000,
  /** How long after its timeout an act can still take effect. */
  settleAfter: 60_000,
  /** The attempts after an error that is not a fault, if the tool says `retry: "any"`. */
  triesOfAnyError: 4,
} as const;
