/** The limits on a request to a model. */
export const modelRequestLimits = {
  requestBytes: 32 * 1024 * 1024,
  requestNodes: 1_000_000,
  messages: 20_000,
  lanes: 100,
} as const;
