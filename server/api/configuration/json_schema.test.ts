import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { configurationSchema } from './json_schema.ts';

// As an editor reads it: formats are hints there, and unknown words are ignored.
const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
const validate = ajv.compile(configurationSchema());

/** The places at which a configuration is wrong, and the names that are not known. */
function faultsOf(configuration: unknown): string[] {
  validate(configuration);
  const faults = (validate.errors ?? []).map(({ instancePath, keyword, params }) =>
    [instancePath, keyword === 'additionalProperties' ? params['additionalProperty'] : keyword]
      .filter((part) => part !== '')
      .join(' '),
  );
  return [...new Set(faults)];
}

const target = (more: object) => ({
  projects: { web: { name: 'Web', notice_targets: { hook: { type: 'webhook', ...more } } } },
});
const sent_to = (destination: object) => ({
  projects: {
    web: { name: 'Web', batch_exports: { rows: { name: 'Rows', interval: 'hour', destination } } },
  },
});
const config = { user: 'u', host: 'h', database: 'd' };

const well: [string, unknown][] = [
  ['nothing', {}],
  ['a section without objects', { projects: { web: { name: 'Web', batch_exports: null } } }],
  ['a reference to a variable', target({ url: { env: 'HOOK' } })],
  ['what is stored', target({ url: { keep: true } })],
  ['a key that was another', { projects: { web: { name: 'Web', was: 'site' } } }],
  [
    'a password of a file',
    sent_to({ type: 'Postgres', config: { ...config, password: { file: 'p' } } }),
  ],
];

for (const [name, configuration] of well)
  test(`an editor takes ${name}`, () => assert.deepEqual(faultsOf(configuration), []));

const wrong: [string, unknown, string][] = [
  ['an unknown section', { exports: {} }, 'exports'],
  ['an unknown field', { projects: { web: { colour: 'red' } } }, '/projects/web colour'],
  ['another type', { projects: { web: { name: 7 } } }, '/projects/web/name type'],
  ['a key with capitals', { projects: { Web: {} } }, '/projects pattern'],
  [
    'a reference to nothing',
    target({ url: { env: 7 } }),
    '/projects/web/notice_targets/hook/url/env type',
  ],
  [
    'a word that is none of a few',
    { projects: { web: { batch_exports: { rows: { interval: 'yearly' } } } } },
    '/projects/web/batch_exports/rows/interval enum',
  ],
  [
    'a destination that there is not',
    sent_to({ type: 'Paper', config: {} }),
    '/projects/web/batch_exports/rows/destination oneOf',
  ],
  [
    'a key of the config that there is not',
    sent_to({ type: 'File', config: { prefix: 'p', colour: 'red' } }),
    '/projects/web/batch_exports/rows/destination/config colour',
  ],
];

for (const [name, configuration, fault] of wrong)
  test(`an editor marks ${name}`, () => {
    const faults = faultsOf(configuration);
    assert.ok(faults.includes(fault), JSON.stringify(faults));
  });

test('an editor takes the example of the documentation, and explains each field', () => {
  const page = new URL('../../../docs/configuration_as_code.md', import.meta.url);
  const [, example] = /```yaml\n(# yaml-language-server[^`]+)```/.exec(readFileSync(page, 'utf8'))!;
  assert.deepEqual(faultsOf(parse(example!)), []);
  const { properties } = configurationSchema() as { properties: Record<string, any> };
  assert.match(properties['projects'].description, /^Objects by key/);
  assert.match(properties['projects'].additionalProperties.properties.was.description, /same/);
});
