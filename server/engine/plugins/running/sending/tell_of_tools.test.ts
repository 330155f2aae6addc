import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { enabledWebhook } from '../../../../../test/factories/plugins/webhook_tool.ts';
import {
  harness,
  home,
  openAroundTests,
} from '../../../../../test/factories/plugins/plugin_runs.ts';
import { tellOfTools } from './tell_of_tools.ts';

openAroundTests();

test('Each change of the state of a tool is told once', async () => {
  const url = await enabledWebhook(home, 'https://example.com/');
  const id = Number(/(\d+)\/$/.exec(url)![1]);
  const { db } = harness.deps;
  const told = async () => {
    await Promise.all([tellOfTools(harness.deps), tellOfTools(harness.deps)]);
    await tellOfTools(harness.deps);
    const rows = await db.rows<{ event: string; body: string }>(
      sql`DELETE FROM notices WHERE plugin_config_id = ${id} RETURNING event, body`,
    );
    return rows.map(({ event, body }) => {
      const { type, data } = JSON.parse(body);
      assert.equal(type, `plugin_config.${event}`);
      assert.equal(data.plugin_config.id, id);
      return event;
    });
  };
  const set = (failures: number, held: string | null) =>
    db.run(sql`UPDATE plugin_cursors SET failures = ${failures}, held_reason = ${held}
      WHERE plugin_config_id = ${id}`);
  assert.deepEqual(await told(), []);
  await set(4, null);
  assert.deepEqual(await told(), []);
  await set(5, null);
  assert.deepEqual(await told(), ['failing']);
  await set(2, null);
  assert.deepEqual(await told(), []);
  await set(0, null);
  assert.deepEqual(await told(), ['recovered']);
  await set(0, 'The tool does not accept the settings.');
  assert.deepEqual(await told(), ['failing']);
  await db.run(sql`INSERT INTO plugin_set_aside (plugin_config_id, event_uuid, event, distinct_id,
    mapping, reason) VALUES (${id}, gen_random_uuid(), 'e', 'd', 'Send', 'No.')`);
  assert.deepEqual(await told(), ['rejecting']);
  await db.run(sql`DELETE FROM plugin_set_aside WHERE plugin_config_id = ${id}`);
  await set(0, null);
  assert.deepEqual(await told(), ['recovered', 'recovered']);
});

test('A notice of a tool reaches the administrators, with the address of the tool', async () => {
  const url = await enabledWebhook(home, 'https://example.com/');
  const id = Number(/(\d+)\/$/.exec(url)![1]);
  await harness.deps.db.run(sql`UPDATE plugin_cursors SET failures = 7
    WHERE plugin_config_id = ${id}`);
  await tellOfTools(harness.deps);
  const { body } = await home.ask('GET', `/api/projects/${home.project.id}/notice_deliveries/`);
  const [{ event, batch_export, plugin_config }] = body.results;
  assert.deepEqual([event, batch_export, plugin_config], ['failing', null, id]);
});
