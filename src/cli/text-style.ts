import picocolors from "picocolors";

/** The look of the text output: its colours, and the time zone of its times. */
export interface TextStyle extends ReturnType<typeof picocolors.createColors> {
  /** The IANA name of the zone. */
  readonly zone: string;
}

/** Reads the zone of the host when a time is printed. */
export function textStyle(options: { readonly colors: boolean; readonly host: { readonly zone: string } }): TextStyle {
  return {
    ...picocolors.createColors(options.colors),
    get zone() {
      return options.host.zone;
    },
  };
}
