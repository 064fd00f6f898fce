import type { VNode } from "preact";
import { useId } from "preact/hooks";
import type { AskedValue } from "../../src/core/tool/asked-data.ts";
import { SafeText } from "../components/safe-text.tsx";
import type { AskedData } from "./read-asked-data.ts";

interface AskedDataFieldsProps {
  readonly asked: readonly AskedValue[];
  /** The typed texts, by the pointers of their values. */
  readonly texts: Readonly<Record<string, string>>;
  readonly data: AskedData;
  readonly onText: (path: string, text: string) => void;
}

/** A field for each value that a gate asks for. */
export function AskedDataFields({ asked, texts, data, onText }: AskedDataFieldsProps): VNode {
  const id = useId();
  const problemOf = (path: string) =>
    data.ok || (texts[path] ?? "") === "" ? undefined : data.problems.find((problem) => problem.path.startsWith(path));
  return (
    <>
      {asked.map(({ path, what }) => {
        const problem = problemOf(path);
        return (
          <div class="field" key={path}>
            <label for={`${id}${path}`}>
              <SafeText text={what} />{" "}
              <code class="soft">
                <SafeText text={path} />
              </code>
            </label>
            <textarea
              id={`${id}${path}`}
              rows={2}
              spellcheck={false}
              aria-invalid={problem !== undefined}
              aria-describedby={`${id}${path}-problem`}
              value={texts[path] ?? ""}
              onInput={({ currentTarget }) => onText(path, currentTarget.value)}
            />
            <p id={`${id}${path}-problem`} class="field-problem" aria-live="polite">
              {problem?.message}
            </p>
          </div>
        );
      })}
    </>
  );
}
