/** The parts of JSON Schema that Writ refuses on purpose, with the message of each. */
export const schemaRefusals = {
  otherDraft: "only draft 2020-12 and draft-07 are supported; convert the schema",
  remoteReference: "only references into the same schema (#/…) are allowed; put the other schema under $defs",
  recursiveReference: "is from an older draft; use $ref",
  innerId: "only the whole schema may have an $id; use $defs and $ref",
  asynchrony: "asynchronous schemas are not supported; move the asynchronous part into `run`",
  exponentialPattern: "repeats a group that can match in several ways, which can take minutes; rewrite it without that",
  prototypeName: 'the key "__proto__" is not allowed; rename it',
} as const;
