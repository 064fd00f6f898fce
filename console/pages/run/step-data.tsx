import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Json } from "../../../src/core/values/json.ts";
import type { BlobReference } from "../../../src/engine/ports/output-as-plain-data.ts";
import { JsonView } from "../../components/json-view.tsx";
import { OutputView } from "../../components/output-view.tsx";
import { SafeText } from "../../components/safe-text.tsx";
import { blobReferences } from "./blob-references.ts";
import { imageKind } from "./image-kind.ts";
import { StepPart, type StepPartProps } from "./step-part.tsx";

/** The input with the values that were bound to it, and the output with its images. */
export function StepData({ loaded, step, history, onStep }: StepPartProps): VNode {
  const bindings = Object.entries(step.spec.bindings);
  const isExact = history.input !== null || bindings.length === 0;
  return (
    <>
      <StepPart title="Input">
        {() => (
          <>
            {!isExact && history.attempts.length === 0 && (
              <p class="soft small">The bound values are filled in when the step starts.</p>
            )}
            {bindings.length > 0 && (
              <ul class="bindings small">
                {bindings.map(([path, binding]) => (
                  <li key={path}>
                    <code>
                      <SafeText text={path} />
                    </code>{" "}
                    ← {binding.as === "sha256" ? "the hash of " : ""}
                    {"step" in binding ? (
                      <button type="button" class="link-button" onClick={() => onStep(binding.step)}>
                        <SafeText text={binding.step} />
                      </button>
                    ) : (
                      <SafeText text={binding.outcome} />
                    )}{" "}
                    <code>
                      <SafeText text={binding.path} />
                    </code>
                  </li>
                ))}
              </ul>
            )}
            <JsonView value={history.input ?? step.spec.payload} label="Input" />
          </>
        )}
      </StepPart>
      {history.hasOutput && (
        <StepPart title="Output">
          {() => (
            <>
              {history.warning !== null && (
                <div class="note note-hold">
                  <SafeText text={history.warning} />
                </div>
              )}
              <OutputView value={history.output ?? null} label="Output" />
              <OutputImages run_id={loaded.view.run_id} output={history.output ?? null} />
            </>
          )}
        </StepPart>
      )}
    </>
  );
}

const imagesMax = 12;
const imageBytesMax = 8 * 1024 * 1024;

function OutputImages({ run_id, output }: { readonly run_id: string; readonly output: Json }): VNode | null {
  const references = blobReferences(output);
  if (references.length === 0) return null;
  return (
    <ul class="blobs">
      {references.slice(0, imagesMax).map((reference) => (
        <li key={reference.blob}>
          <OutputBytes run_id={run_id} reference={reference} />
        </li>
      ))}
    </ul>
  );
}

/** Bytes of an output: shown if their first bytes are those of an image, else offered as a file. */
function OutputBytes({ run_id, reference }: { readonly run_id: string; readonly reference: BlobReference }): VNode {
  const { blob, bytes } = reference;
  const path = `/v1/runs/${encodeURIComponent(run_id)}/blobs/${encodeURIComponent(blob)}?bytes=${bytes}`;
  const [image, setImage] = useState<string | null>(null);
  useEffect(() => {
    if (bytes > imageBytesMax) return;
    const reading = new AbortController();
    readImage(path, reading.signal)
      .then(setImage)
      .catch(() => null);
    return () => reading.abort();
  }, [path, bytes]);
  return (
    <figure>
      {image !== null && <img src={image} alt={`Output ${blob.slice(0, 12)}`} />}
      <figcaption class="small soft">
        {bytes.toLocaleString("en")} bytes, <code>{blob.slice(0, 12)}</code>{" "}
        <a href={path} download={blob.slice(0, 12)}>
          Download
        </a>
      </figcaption>
    </figure>
  );
}

/** Reads bytes as the address of an image, or null. The policy of the page allows images only from such addresses. */
async function readImage(path: string, signal: AbortSignal): Promise<string | null> {
  const response = await fetch(path, { signal });
  if (!response.ok) return null;
  const bytes = new Uint8Array(await response.arrayBuffer());
  const kind = imageKind(bytes);
  if (kind === null) return null;
  const reader = new FileReader();
  return new Promise((resolve) => {
    reader.addEventListener("load", () => resolve(String(reader.result)));
    reader.readAsDataURL(new Blob([bytes], { type: kind }));
  });
}
