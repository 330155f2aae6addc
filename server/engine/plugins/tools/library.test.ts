import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { inTurn } from '../../../../test/depth.ts';
import { mappingsOf, openToolTrials } from '../../../../test/factories/plugins/tool_trials.ts';
import type { ToolTrials } from '../../../../test/factories/plugins/tool_trials.ts';
import { fieldsOf } from '../config_schema.ts';
import { readManifest } from '../packages/manifest.ts';
import { listTools } from './catalogue.ts';
import { presetsOf, soundMappings } from './mappings.ts';
import { toolFiles } from './tool_files.ts';
import { toolOf } from './tool.ts';
import type { ToolDefinition, ToolField, ToolMapping } from './tool.ts';

let trials: ToolTrials;
before(async () => {
  trials = await openToolTrials();
  // One stays loaded, so that the process does.
  await trials.load('slack');
});
after(() => trials.close());

/** The defaults that name the library's makers to the receiver; choices are the receiver's own. */
function theirNames({ settings, actions, presets, templates }: ToolDefinition): string[] {
  const textsOf = (value: unknown): string[] => {
    if (typeof value === 'string') return /segment/i.test(value) ? [value] : [];
    if (typeof value !== 'object' || value === null) return [];
    return Object.entries(value).flatMap(([key, one]) => (key === '@path' ? [] : textsOf(one)));
  };
  const isOwn = (field: ToolField | undefined, text: string) =>
    JSON.stringify(field?.choices ?? []).includes(`"${text}"`);
  const fields = [settings, ...Object.values(actions).map((action) => action.fields)];
  const defaults = fields.flatMap((all) =>
    Object.values(all).flatMap((field) =>
      textsOf(field.default).filter((text) => !isOwn(field, text)),
    ),
  );
  const values = [...presets, ...templates].flatMap(({ partnerAction, mapping }) =>
    Object.entries(mapping).flatMap(([key, value]) =>
      textsOf(value).filter((text) => !isOwn(actions[partnerAction]?.fields[key], text)),
    ),
  );
  return [...defaults, ...values];
}

test('Every tool of the catalogue loads, with a valid form, presets and our name', async () => {
  const faults: string[] = [];
  for (const entry of inTurn(listTools(), 4)) {
    const tool = await trials.load(entry.directory);
    const description = await trials.describe(tool);
    await tool.close();
    const files = toolFiles(entry, description, '1.0.0');
    const fields = fieldsOf(readManifest(files).config_schema);
    if (fields.filter(({ key }) => key === 'mappings').length !== 1)
      faults.push(`${entry.directory} has a setting of its own with the name mappings`);
    const read = soundMappings(JSON.stringify(mappingsOf(description)), toolOf(files)!);
    const signed = theirNames(toolOf(files)!);
    if (signed.length > 0) faults.push(`${entry.directory} sends ${signed.join(', ')}`);
    if (typeof read === 'string' && !/^Mapping \d+ lacks|Two mappings/.test(read))
      faults.push(`${entry.directory}: ${read}`);
  }
  assert.deepEqual(faults, []);
});

const hosts: Record<string, RegExp> = {
  amplitude: /^https:\/\/api2\.amplitude\.com\//,
  braze: /^https:/,
  customerio: /^https:\/\/track\.customer\.io\//,
  'google-analytics-4': /^https:\/\/www\.google-analytics\.com\//,
  iterable: /^https:\/\/api\.iterable\.com\//,
  mixpanel: /^https:\/\/api\.mixpanel\.com\//,
  posthog: /^https:/,
  slack: /^https:\/\/hooks\.slack\.com\//,
  webhook: /^https:\/\/receiver\.acme\.com\//,
};

for (const [directory, address] of Object.entries(hosts))
  test(`The first mapping of ${directory} sends an event to its host`, async () => {
    const tool = await trials.load(directory);
    const description = await trials.describe(tool);
    const [mapping] = [...presetsOf(description), ...mappingsOf(description)].filter(
      ({ subscribe }) => !subscribe.includes('!='),
    );
    const { outcome, requests } = await trials.send(tool, description, mapping!);
    await tool.close();
    assert.equal(outcome.kind, 'sent');
    assert.match(requests[0]!.url, address);
  });

test('The mappings of Amplitude give each event a key of its own', async () => {
  const tool = await trials.load('amplitude');
  const description = await trials.describe(tool);
  await tool.close();
  const track = presetsOf(description).find(({ name }) => name === 'Track Calls');
  assert.deepEqual(track?.mapping['insert_id'], { '@path': '$.messageId' });
});

test('A message at Slack is signed with our name and has no picture', async () => {
  const tool = await trials.load('slack');
  const files = toolFiles(
    listTools().find(({ directory }) => directory === 'slack')!,
    await trials.describe(tool),
    '1.0.0',
  );
  await tool.close();
  const [{ mapping }] = toolOf(files)!.templates as [ToolMapping];
  assert.equal(mapping['username'], 'Sluice');
  assert.equal('icon_url' in mapping, false);
});
