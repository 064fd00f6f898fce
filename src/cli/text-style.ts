import picocolors from "picocolors";

/** The look of the text output: its colours, and the time zone of its times. */
export interface TextStyle extends ReturnType<typeof picocolors.createColors> {
  /** The IANA name of the zone. */
  readonly zone: string;
}

export function textStyle(options: { readonly colors: boolean; readonly zone: string }): TextStyle {
  return { ...picocolors.createColors(options.colors), zone: options.zone };
}
