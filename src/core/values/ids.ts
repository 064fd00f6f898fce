declare const brand: unique symbol;

type Id<Name extends string> = string & { readonly [brand]: Name };

/** The isolation domain. It is part of every key. */
export type Tenant = Id<"Tenant">;
export type RunId = Id<"RunId">;
/** Stable inside its run; the same step keeps its id through retries, restarts and forks. */
export type StepId = Id<"StepId">;
export type GateId = Id<"GateId">;
export type WorkerId = Id<"WorkerId">;

/** Names one intended act. Two calls with the same key are the same act. */
export type EffectKey = Id<"EffectKey">;

/** SHA-256 as lower-case hex. */
export type Digest = Id<"Digest">;

/** Milliseconds since the epoch, always read from a Clock. */
export type Instant = number & { readonly [brand]: "Instant" };

/** The number of times a run has been claimed. It only grows, and the store rejects writes of an earlier epoch. */
export type Epoch = number & { readonly [brand]: "Epoch" };
