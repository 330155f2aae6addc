import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../house/source_files.ts';

type Schema = { [name: string]: Schema | undefined } & { enum?: string[] };

const page = readFileSync(join(root, 'docs/states.md'), 'utf8');
const document = JSON.parse(readFileSync(join(root, 'openapi.json'), 'utf8')) as {
  components: { schemas: Record<string, unknown> };
};

/** Sections of docs/states.md, and where the OpenAPI document has their words. */
const sections = [
  ['Export', 'ExportOverview', 'health', 'code'],
  ['Run', 'BatchExportRun', 'status'],
  ['Slot of a schedule', 'SlotRange', 'state'],
  ['Event of a tool', 'FoundRecords', 'tools', 'state'],
  ['Verification', 'BatchExport', 'verification', 'state'],
  ['Verification', 'Verification', 'status'],
  ['Verification', 'Deviation', 'state'],
  ['Domain', 'Domain', 'verification', 'state'],
  ['Erasure', 'Erasure', 'status'],
  ['Erasure', 'ErasureCopy', 'state'],
  ['Erasure', 'ErasureTool', 'state'],
  ['Notice', 'NoticeDelivery', 'outcome'],
] as const;

/** The words of the first property of that name, at any depth below. */
function wordsOf(schema: unknown, [name, ...rest]: readonly string[]): string[] | undefined {
  if (schema === null || typeof schema !== 'object') return undefined;
  if (name === undefined) return enumOf(schema as Schema);
  const own = (schema as Schema)['properties']?.[name];
  if (own !== undefined) return wordsOf(own, rest);
  for (const part of Object.values(schema)) {
    const found = wordsOf(part, [name, ...rest]);
    if (found !== undefined) return found;
  }
  return undefined;
}

function enumOf(schema: Schema): string[] | undefined {
  return (
    schema.enum ??
    (schema['anyOf'] as unknown as Schema[] | undefined)?.find((one) => one.enum)?.enum
  );
}

for (const [section, component, ...names] of sections)
  test(`docs/states.md has each ${names.join('.')} of ${component}`, () => {
    const text = page.split(`\n## ${section}\n`)[1]!.split('\n## ')[0]!;
    const words = wordsOf(document.components.schemas[component], names)!;
    assert.ok(words.length > 1);
    assert.deepEqual(
      words.filter((word) => !text.includes(`\`${word}\``)),
      [],
    );
  });
