import assert from 'node:assert/strict';
import { test } from 'node:test';
import { packageFiles, setPluginsLevel } from '../../../test/factories/plugins/plugins.ts';
import { openConfigurations } from '../../../test/factories/configurations.ts';
import { webhook_secret } from '../../../test/factories/notices.ts';
import { testIdentityProvider } from '../../../test/saml/identity_provider.ts';
import { shareHarness } from '../../../test/harness.ts';
import { kinds } from './kinds/index.ts';

const { certificate } = testIdentityProvider('other');
const harness = shareHarness();

const hook = { type: 'webhook', url: { secret: ' https://HOOKS.example.com/a ' } };

/** Each text that the server spells its own way, as somebody may type it. */
function typed(email: string, own: string) {
  return {
    organization: { name: '  Spelled ' },
    projects: {
      web: {
        name: ' Web\u00a0',
        timezone: ' Europe/Berlin ',
        internal_addresses: ['2001:DB8:0:0::/32', '203.0.113.7'],
        write_keys: { site: { name: ' Site ' } },
        schema_columns: { total: { property: 'total', type: 'float' } },
        ingestion_rules: {
          mails: {
            name: ' Mails ',
            action: 'rename_property',
            property: ' mail ',
            new_name: ' email ',
          },
        },
        planned_events: { paid: { event: ' order paid ', mode: 'warn', description: ' Paid ' } },
        batch_exports: {
          rows: {
            name: ' Rows ',
            tags: [' Team '],
            interval: 'day',
            timezone: ' Africa/Cairo ',
            offset_hour: 0,
            offset_minute: 30,
            start_at: '2026-01-01T01:00:00+01:00',
            custom_query: ' SELECT uuid, event, timestamp  FROM events ',
            mode: 'merge',
            primary_key: [' uuid '],
            version_key: [' timestamp '],
            destination: {
              type: 'Postgres',
              config: { user: 'u', password: 'p', host: 'H.example.com.', database: 'd' },
            },
          },
        },
        notice_targets: {
          mail: { type: 'email', name: ' Team ', address: ' Team@EXAMPLE.com ' },
          hook: { ...hook, secret: { secret: webhook_secret } },
        },
        plugin_configs: { geo: { plugin: 'geo', allowed_hosts: [' API.example.com '] } },
      },
    },
    connections: {
      warehouse: {
        name: ' Warehouse ',
        type: 'Postgres',
        config: { user: 'u', password: 'p', host: 'W.example.com.', database: 'd' },
      },
    },
    plugins: {
      geo: {
        collection: 'pipeline_destinations',
        plugin_type: 'source',
        name: ' Geo ',
        tag: ' one ',
        source: packageFiles('pipeline_destinations', { name: ' Geo ' }),
      },
    },
    domains: {
      dotted: {
        domain: ` ${own}-dotted.EXAMPLE.com. `,
        sso_enforcement: ' ',
        saml_entity_id: ' https://idp.example.com/ ',
        saml_acs_url: ' https://idp.example.com/sso ',
        saml_x509_cert: ` ${certificate} `,
      },
      umlaut: { domain: `${own}-bücher.example.com` },
      wide: { domain: `${own}-ＷＩＤＥ。example.com` },
    },
    members: { colleague: { email: ` ${email.toUpperCase()} `, level: 8 } },
    invites: {
      friend: { target_email: ' Friend@BÜCHER.example.com ', level: 1, first_name: ' Fay ' },
    },
  };
}

test('a value that the server respells is applied once, and leaves nothing to do', async () => {
  const config = await openConfigurations(harness);
  await setPluginsLevel(harness, config.home, 6);
  const { user } = await harness.newMember(config.home.organization.id, 1);
  const wanted = typed(user.email, `s${config.home.project.id}`);
  const people = { people: true, source: { name: 'spellings' } };
  await config.put(wanted, people);
  for (const round of ['first', 'second']) {
    const again = await config.plan(wanted, people);
    assert.equal(again.status, 201, again.text);
    assert.deepEqual([again.body.steps, again.body.drift], [[], []], round);
    assert.equal((await config.apply(again.body.hash)).status, 200);
  }
});

test('every trimmed field of every kind is among those', () => {
  const sections = typed('a@example.com', 'a') as Record<string, any>;
  const isTrimmed = (schema: any): boolean =>
    schema?.trim === true || (schema?.items !== undefined && isTrimmed(schema.items));
  const isPadded = (value: any): boolean =>
    Array.isArray(value)
      ? value.some(isPadded)
      : typeof value === 'object' && value !== null
        ? isPadded(value.secret)
        : typeof value === 'string' && value !== value.trim();
  for (const kind of kinds) {
    const home = kind.parent === undefined ? sections : sections['projects'].web;
    const section = home[kind.section];
    const objects: any[] = kind.is_single ? [section] : Object.values(section);
    const fields = Object.entries(kind.schema.properties).filter(([, one]) => isTrimmed(one));
    // Only packages have one, and packages.test.ts fetches some.
    const left_out = kind.name === 'plugin' ? ['url'] : [];
    assert.deepEqual(
      fields
        .map(([name]) => name)
        .filter((name) => !objects.some((one) => isPadded(one[name])))
        .filter((name) => !left_out.includes(name)),
      [],
      `${kind.name}: type it with white space around it in the configuration above.`,
    );
  }
});
