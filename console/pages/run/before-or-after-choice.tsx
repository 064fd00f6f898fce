import type { VNode } from "preact";

interface BeforeOrAfterChoiceProps {
  readonly side: "before" | "after";
  readonly onSide: (side: "before" | "after") => void;
}

/** The choice between the moment right before and right after a call. */
export function BeforeOrAfterChoice({ side, onSide }: BeforeOrAfterChoiceProps): VNode {
  return (
    <fieldset class="choices">
      <legend>The moment</legend>
      {(["before", "after"] as const).map((each) => (
        <label key={each} class="choice">
          <input type="radio" name="side" checked={side === each} onChange={() => onSide(each)} />
          right {each} the call
        </label>
      ))}
    </fieldset>
  );
}
