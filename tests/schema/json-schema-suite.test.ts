import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Schema } from "../../src/core/ports/schema.ts";
import type { JsonObject } from "../../src/core/values/json.ts";
import { jsonSchema } from "../../src/schema/schema-from-json-schema.ts";
import { findDialect, type SchemaDialect } from "../../src/schema/validator/schema-dialect.ts";
import { schemaRefusals } from "../../src/schema/validator/schema-refusals.ts";
import { type SuiteGroup, schemaCases } from "./json-schema-cases.ts";

const draft07 = "http://json-schema.org/draft-07/schema#";

/** The folder of a checkout of github.com/json-schema-org/JSON-Schema-Test-Suite. Without it, only our cases run. */
const { JSON_SCHEMA_TEST_SUITE: checkout } = process.env;
const groups = checkout === undefined ? schemaCases : [...schemaCases, ...readSuite(checkout)];

describe.each(["draft2020-12", "draft7"] as const)("JSON Schema %s", (draft) => {
  it("accepts and rejects the values of the test suite, except for the listed refusals", () => {
    const wrong = groups.filter((group) => group.draft === draft && !isDifferent(group)).flatMap(wrongAnswers);
    expect(wrong).toEqual([]);
  });

  it("has a case for every keyword", () => {
    const { keywords } = findDialect(draft === "draft7" ? { $schema: draft07 } : {}) as SchemaDialect;
    const cases = schemaCases.filter((group) => group.draft === draft).map(({ file }) => file);
    expect(Object.keys(keywords).filter((keyword) => !cases.includes(`${keyword}.json`))).toEqual([]);
  });

  it("refuses none of our cases", () => {
    const refused = schemaCases.filter((group) => group.draft === draft && makeSchema(group) === null);
    expect(refused).toEqual([]);
  });
});

function readSuite(folder: string): readonly SuiteGroup[] {
  return (["draft2020-12", "draft7"] as const).flatMap((draft) => {
    const files = readdirSync(join(folder, "tests", draft), { recursive: true, encoding: "utf8" });
    return files
      .filter((file) => file.endsWith(".json"))
      .flatMap((file) =>
        (JSON.parse(readFileSync(join(folder, "tests", draft, file), "utf8")) as readonly SuiteGroup[]).map(
          (group) => ({ ...group, draft, file }),
        ),
      );
  });
}

/**
 * The differences that docs/limits.md lists: known formats are checked, with the precision of ajv-formats, and the
 * content of a text is not checked.
 */
function isDifferent({ file, description }: SuiteGroup): boolean {
  return (
    /^optional.format./.test(file) ||
    (file === "format.json" && description.endsWith(" format")) ||
    /^optional.content\.json$/.test(file)
  );
}

/** Returns the answers that differ from the suite. A schema that is refused on purpose has none. */
function wrongAnswers(group: SuiteGroup): readonly string[] {
  const schema = makeSchema(group);
  if (schema === null) return [];
  return group.tests.flatMap(({ description, data, valid }) => {
    const parsed = schema.parse(data);
    const isRefused = !parsed.ok && parsed.fault.message.includes(schemaRefusals.prototypeName);
    return parsed.ok === valid || isRefused
      ? []
      : [`${group.draft}/${group.file}: ${group.description}: ${description}`];
  });
}

/** Returns null if the schema is refused on purpose. */
function makeSchema({ draft, schema }: SuiteGroup): Schema | null {
  const object = typeof schema === "boolean" ? { allOf: [schema] } : (schema as JsonObject);
  try {
    return jsonSchema(draft === "draft7" ? { $schema: draft07, ...object } : object);
  } catch (thrown) {
    if (Object.values(schemaRefusals).some((refusal) => String(thrown).includes(refusal))) return null;
    throw thrown;
  }
}
