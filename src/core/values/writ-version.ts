/** The version of this package, as in package.json. */
export const writVersion = "0.1.0";
