import fc from "fast-check";

/**
 * Property tests draw the same values in every run, so a test passes or fails for a reason that is in the change.
 * `WRIT_PROPERTY_SEED` selects other values; `random` selects new ones in each run, and a failure prints its seed.
 */
const { WRIT_PROPERTY_SEED: seed = "1" } = process.env;
if (seed !== "random") fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) });
