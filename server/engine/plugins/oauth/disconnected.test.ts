import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import sql from 'sql-template-tag';
import {
  connectTool,
  oauthTool,
  registerApplication,
} from '../../../../test/factories/plugins/oauth_tools.ts';
import type { OauthTool } from '../../../../test/factories/plugins/oauth_tools.ts';
import { sendEvents } from '../../../../test/factories/plugins/running_plugins.ts';
import {
  harness,
  home,
  openAroundTests,
  run,
  soon,
  stopAll,
} from '../../../../test/factories/plugins/plugin_runs.ts';
import { openOauthVendor } from '../../../../test/servers/oauth_vendor.ts';
import type { OauthVendorServer } from '../../../../test/servers/oauth_vendor.ts';
import type { NoticeBody } from '../../notices/notice.ts';
import { noticeMail } from '../../notices/notice_mail.ts';
import { serviceBody } from '../../notices/services.ts';
import { tellOfTools } from '../running/sending/tell_of_tools.ts';

openAroundTests();
let vendor: OauthVendorServer;
beforeEach(async () => {
  vendor = await openOauthVendor();
});
afterEach(async () => {
  await stopAll();
  await vendor.close();
});

async function connected() {
  const application = await registerApplication(home, vendor);
  const tool = await oauthTool(harness, home, `${vendor.url}/in`);
  await connectTool(harness, tool, vendor);
  return { tool, application };
}

const ended_loss = 'plugin_config.recovered from "disconnected"';
const ended_failures = 'plugin_config.recovered from "failing"';

/** The notices of a tool, in order. */
async function bodiesOf({ id }: OauthTool): Promise<NoticeBody[]> {
  await Promise.all([tellOfTools(harness.deps), tellOfTools(harness.deps)]);
  const rows = await harness.deps.db.rows<{ body: string }>(
    sql`SELECT body FROM notices WHERE plugin_config_id = ${id} ORDER BY id`,
  );
  return rows.map(({ body }) => JSON.parse(body));
}

/** The events of a tool's notices, each with the state that ended. */
async function toldOf(tool: OauthTool): Promise<string[]> {
  const bodies = await bodiesOf(tool);
  return bodies.map(({ type, data: { recovered_from } }) =>
    recovered_from === undefined ? type : `${type} from ${JSON.stringify(recovered_from)}`,
  );
}

function refuseRefresh(): void {
  vendor.token_answer = (grant) =>
    grant === 'refresh_token' ? { status: 400, body: { error: 'invalid_grant' } } : undefined;
  vendor.expireAll();
}

const refused = ({ id }: OauthTool) =>
  soon('the refusal', () =>
    harness.deps.db.row(sql`SELECT 1 FROM plugin_oauth_connections n JOIN plugin_cursors k
      ON k.plugin_config_id = n.plugin_config_id WHERE n.plugin_config_id = ${id}
      AND n.refused_reason IS NOT NULL AND k.held_reason IS NOT NULL`),
  );

test('A refused refresh is told once, also of a tool that is failing already', async () => {
  const { tool } = await connected();
  const { db } = harness.deps;
  await db.run(sql`UPDATE plugin_cursors SET failures = 7 WHERE plugin_config_id = ${tool.id}`);
  assert.deepEqual(await toldOf(tool), ['plugin_config.failing']);
  refuseRefresh();
  await sendEvents(home, 2);
  run();
  await refused(tool);
  assert.deepEqual(await toldOf(tool), ['plugin_config.failing', 'plugin_config.disconnected']);
  assert.deepEqual(await toldOf(tool), ['plugin_config.failing', 'plugin_config.disconnected']);
  vendor.token_answer = undefined;
  await connectTool(harness, tool, vendor);
  await soon('the events', async () => (vendor.taken.length >= 2 ? true : undefined));
  await stopAll();
  const told = await toldOf(tool);
  assert.deepEqual(told.slice(0, 2), ['plugin_config.failing', 'plugin_config.disconnected']);
  assert.deepEqual(told.slice(2).toSorted(), [ended_loss, ended_failures]);
});

test('A refused refresh is no second notice, and names the page to connect at', async () => {
  const { tool } = await connected();
  refuseRefresh();
  await sendEvents(home, 1);
  run();
  await refused(tool);
  await stopAll();
  assert.deepEqual(await toldOf(tool), ['plugin_config.disconnected']);
  const [body] = await bodiesOf(tool);
  assert.match(body!.data.detail, /invalid_grant/);
  const page =
    `https://sluice.example/projects/${home.project.id}/plugins/pipeline_destinations/` +
    `${tool.plugin}`;
  const mail = noticeMail('https://sluice.example', [body!], 'administrator');
  assert.equal(mail.subject, 'The tool Extensible Webhook has to be connected again');
  assert.ok(mail.text.includes(page));
  const slack = serviceBody('slack', 'https://sluice.example', body!, undefined);
  assert.ok(slack.includes(`<${page}|See the tool>`));
  const incident = JSON.parse(serviceBody('pagerduty', 'https://sluice.example', body!, 'key'));
  assert.equal(incident.dedup_key, `sluice/plugin_config/${tool.id}/disconnected`);
  // A person who disconnects it has not connected it.
  assert.equal((await tool.ask('POST', `${tool.url}oauth/disconnect/`)).status, 200);
  assert.deepEqual(await toldOf(tool), ['plugin_config.disconnected']);
  vendor.token_answer = undefined;
  await connectTool(harness, tool, vendor);
  assert.deepEqual(await toldOf(tool), ['plugin_config.disconnected', ended_loss]);
});

test('A changed application is told as well', async () => {
  const { tool, application } = await connected();
  const other = { client_id: 'another', client_secret: 'x' };
  assert.equal((await home.ask('PATCH', application, other)).status, 200);
  assert.deepEqual(await toldOf(tool), ['plugin_config.disconnected']);
  const [changed] = await bodiesOf(tool);
  assert.match(changed!.data.detail, /^The OAuth application has changed/);
});

test('A connection that cannot be renewed is told when its token is refused', async () => {
  vendor.token_answer = () => ({
    status: 200,
    body: { access_token: 'access-alone', token_type: 'bearer' },
  });
  const { tool } = await connected();
  assert.deepEqual(await toldOf(tool), []);
  await sendEvents(home, 1);
  run();
  await refused(tool);
  await stopAll();
  assert.deepEqual(await toldOf(tool), ['plugin_config.disconnected']);
  const [body] = await bodiesOf(tool);
  assert.match(body!.data.detail, /gave no refresh token\. Connect the tool again\./);
});
