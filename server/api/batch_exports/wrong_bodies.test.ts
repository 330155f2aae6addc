import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  attrsOf,
  noop_export,
  organizationBase,
  projectBase,
} from '../../../test/factories/batch_exports/batch_exports.ts';
import { shareHarness } from '../../../test/harness.ts';

const harness = shareHarness({ clickhouse: false });

test('wrong bodies are 400 and name every field', async () => {
  const home = await harness.newOrganization();
  const file = (config: unknown) => ({ ...noop_export, destination: { type: 'File', config } });
  const cases: [unknown, string[]][] = [
    [{}, ['destination required', 'interval required', 'name required']],
    [[], ['null invalid_input']],
    ['"text"', ['null invalid_input']],
    ['7', ['null invalid_input']],
    [{ ...noop_export, name: '' }, ['name blank']],
    [{ ...noop_export, name: '  ' }, ['name blank']],
    [{ ...noop_export, name: null }, ['name null']],
    [{ ...noop_export, name: 7 }, ['name invalid_input']],
    [{ ...noop_export, name: 'x'.repeat(1001) }, ['name max_length']],
    [{ ...noop_export, name: 'a\0b' }, ['name null_characters_not_allowed']],
    [{ ...noop_export, model: 'cohorts' }, ['model invalid_choice']],
    [{ ...noop_export, model: null }, ['model null']],
    [{ ...noop_export, interval: 'fortnight' }, ['interval invalid_choice']],
    [{ ...noop_export, interval: 3600 }, ['interval invalid_choice']],
    [{ ...noop_export, interval: null }, ['interval null']],
    [{ ...noop_export, paused: 'yes' }, ['paused invalid_input']],
    [{ ...noop_export, paused: null }, ['paused null']],
    [{ ...noop_export, start_at: '2022-07-19 00:00:00' }, ['start_at invalid_input']],
    [{ ...noop_export, start_at: '2022-07-19T00:00:00' }, ['start_at invalid_input']],
    [{ ...noop_export, end_at: 1_700_000_000 }, ['end_at invalid_input']],
    [{ ...noop_export, freshness_seconds: 3600 }, ['freshness_seconds min_value']],
    [{ ...noop_export, freshness_seconds: 'hour' }, ['freshness_seconds invalid_input']],
    [{ ...noop_export, last_paused_at: 'yesterday' }, ['last_paused_at invalid_input']],
    [{ ...noop_export, start_at: '2026-02-30T00:00:00.000000Z' }, ['start_at invalid_input']],
    [{ ...noop_export, start_at: '0001-01-01T00:00:00+14:00' }, ['start_at invalid_input']],
    [{ ...noop_export, end_at: '9999-12-31T23:59:59-14:00' }, ['end_at invalid_input']],
    [
      { ...noop_export, interval: 'week', start_at: '9999-12-30T00:00:00.000000Z' },
      ['start_at invalid_input'],
    ],
    [
      {
        ...noop_export,
        start_at: '2026-01-02T00:00:00.000000Z',
        end_at: '2026-01-01T00:00:00.000000Z',
      },
      ['end_at invalid_input'],
    ],
    [
      {
        ...noop_export,
        start_at: '2026-01-01T01:00:00+01:00',
        end_at: '2026-01-01T00:00:00.000000Z',
      },
      ['end_at invalid_input'],
    ],
    [{ ...noop_export, custom_query: 'SELECT evnt FROM events' }, ['custom_query invalid_input']],
    [{ ...noop_export, custom_query: '' }, ['custom_query invalid_input']],
    [{ ...noop_export, custom_query: 7 }, ['custom_query invalid_input']],
    [{ ...noop_export, destination: null }, ['destination null']],
    [{ ...noop_export, destination: 'S3' }, ['destination invalid_input']],
    [{ ...noop_export, destination: [] }, ['destination invalid_input']],
    [
      { ...noop_export, destination: {} },
      ['destination__config required', 'destination__type required'],
    ],
    [{ ...noop_export, destination: { type: 'NoOp' } }, ['destination__config required']],
    [
      { ...noop_export, destination: { type: 'Floppy', config: {} } },
      ['destination__type invalid_choice'],
    ],
    [
      { ...noop_export, destination: { type: 'noop', config: {} } },
      ['destination__type invalid_choice'],
    ],
    [{ ...noop_export, destination: { type: 7, config: {} } }, ['destination__type invalid_input']],
    [
      { ...noop_export, destination: { type: 'NoOp', config: [] } },
      ['destination__config invalid_input'],
    ],
    [
      { ...noop_export, destination: { type: 'NoOp', config: { arg: 7, speed: 'fast' } } },
      ['destination__config__arg invalid_input', 'destination__config__speed unknown_field'],
    ],
    [
      '{"name":"x","interval":"hour",' +
        '"destination":{"type":"NoOp","config":{"__proto__":{"arg":"x"}}}}',
      ['destination__config____proto__ unknown_field'],
    ],
    [file({}), ['destination__config__prefix required']],
    [file(null), ['destination__config__prefix required']],
    [file({ prefix: null }), ['destination__config__prefix null']],
    [file({ prefix: '../x' }), ['destination__config__prefix invalid_input']],
    [file({ prefix: '{moon}' }), ['destination__config__prefix invalid_input']],
    [
      file({ prefix: 'a', file_format: 'XML' }),
      ['destination__config__file_format invalid_choice'],
    ],
    [
      file({ prefix: 'a', file_format: 'CSV', compression: 'snappy' }),
      ['destination__config__compression invalid_choice'],
    ],
    [
      {
        name: '',
        interval: 'x',
        destination: { type: 'File', config: { colour: 1 } },
        start_at: '2',
      },
      [
        'destination__config__colour unknown_field',
        'destination__config__prefix required',
        'interval invalid_choice',
        'name blank',
        'start_at invalid_input',
      ],
    ],
  ];
  for (const base of [projectBase(home), organizationBase(home)]) {
    for (const [body, expected] of cases) {
      const answer = await home.ask('POST', base, body);
      assert.equal(answer.status, 400, `${JSON.stringify(body)}: ${answer.text}`);
      assert.deepEqual(attrsOf(answer), expected, JSON.stringify(body));
    }
  }
  assert.equal((await home.ask('POST', projectBase(home), '{')).body.code, 'parse_error');
  assert.equal((await home.ask('GET', projectBase(home))).body.count, 0);
});
