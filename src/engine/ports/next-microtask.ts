/** A reaction to this promise runs after the microtasks that are queued now. */
export const NEXT_MICROTASK = Promise.resolve();
