import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { openHarness } from '../../../../test/harness.ts';
import {
  enabledPlugin,
  keepSandbox,
  logLines,
  sendEvents,
  target_fields,
} from '../../../../test/factories/plugins/running_plugins.ts';
import { until } from '../../../../test/processes/server_process.ts';
import { runPlugins } from '../../../cli/run_plugins.ts';
import { aroundTests } from '../../../../test/around_tests.ts';

const secret = 'pl4nted-"plugin"-s3cret';

const harness = aroundTests(() => openHarness({ config: { plugin_failures_max: 2 } }), keepSandbox);

const code = {
  'logs and errors of calls': `
    export const onEvent = (event, { config }) => {
      console.log('with', config.secret, { config });
      console.error(
        new Error('at https://api.example.com/?key=' + encodeURIComponent(config.secret)),
      );
      throw new Error('refused ' + config.secret);
    };`,
  'errors of setting up': `
    export const setupPlugin = ({ config }) => {
      throw new Error('no server takes ' + config.secret);
    };
    export const onEvent = () => undefined;`,
  'refused webhooks': `
    export const composeWebhook = (event, { config }) => ({
      url: 'https://' + config.secret.slice(0, 7) + '.example.com/',
    });`,
};

for (const [where, text] of Object.entries(code)) {
  test(`a secret of the config is in nothing that is kept of ${where}`, async () => {
    const home = await harness.newOrganization();
    const hidden = where === 'refused webhooks' ? secret.slice(0, 7) : secret;
    const { url, id } = await enabledPlugin(harness, home, 'pipeline_destinations', text, {
      config: { address: 'http://127.0.0.1', secret: hidden },
      fields: target_fields,
    });
    await sendEvents(home, 3);
    const runner = runPlugins(harness.deps, { retry_seconds: 0.05, idle_seconds: 1 });
    try {
      // Stopped, held until a host is allowed, or set aside.
      const said_of = await until('the reason', 60_000, 20, async () => {
        const { body } = await harness.request('GET', url, { key: home.key });
        const asides = await harness.request('GET', `${url}set_aside/`, { key: home.key });
        return body.error?.message ?? asides.body.results[0]?.reason;
      });
      assert.match(said_of, /\*{8}/);
      // A log line of a plugin is written a moment later.
      const lines = await until('the line', 60_000, 20, async () => {
        const written = await logLines(home, url);
        return written.some((line) => line.includes('********')) ? written : undefined;
      });
      const kept = await harness.deps.db.rows(
        sql`SELECT to_jsonb(c) - 'config_secrets' AS row FROM plugin_configs c WHERE c.id = ${id}
          UNION ALL SELECT to_jsonb(k) FROM plugin_cursors k WHERE k.plugin_config_id = ${id}
          UNION ALL SELECT to_jsonb(s) FROM plugin_set_aside s WHERE s.plugin_config_id = ${id}
          UNION ALL SELECT to_jsonb(a) FROM activity a WHERE a.item_id = ${String(id)}`,
      );
      for (const said of [...lines, JSON.stringify(kept), said_of])
        assert.ok(!said.includes(hidden.slice(0, 7)) && !said.includes('s3cret'), said);
    } finally {
      await runner.stop();
    }
  });
}
