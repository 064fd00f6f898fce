import fc from "fast-check";

// A mutant that lives must live again tomorrow, and one that dies need not be told by the smallest example.
fc.configureGlobal({ seed: 20, endOnFailure: true });
