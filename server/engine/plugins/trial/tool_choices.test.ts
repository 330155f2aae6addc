import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Response } from 'undici';
import {
  offering_code,
  offering_definition,
} from '../../../../test/factories/plugins/offering_tool.ts';
import { writeToolPackage } from '../../../../test/factories/plugins/tool_package.ts';
import type { TrialFetch } from '../../../../test/factories/plugins/tool_trials.ts';
import { openVendorReceiver } from '../../../../test/vendors/receiver.ts';
import type { VendorReceiver } from '../../../../test/vendors/receiver.ts';
import { readVendors } from '../../../../test/vendors/vendors.ts';
import { systemClock } from '../../../platform/clock.ts';
import { silentLog } from '../../../platform/log.ts';
import { OutboundRefused } from '../../../platform/outbound/outbound_faults.ts';
import { HoldError } from '../running/hold.ts';
import { openSandbox } from '../sandbox/sandbox.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { listTools } from '../tools/catalogue.ts';
import { describeTool } from '../tools/describe.ts';
import { toolOf } from '../tools/tool.ts';
import type { ToolDefinition } from '../tools/tool.ts';
import { toolFiles } from '../tools/tool_files.ts';
import { askToolChoices } from './tool_choices.ts';
import type { ChoicesQuestion, ToolChoices } from './tool_choices.ts';

const vendors = readVendors().filter(({ name }) =>
  ['Klaviyo', 'Braze', 'HubSpot', 'Salesforce'].includes(name),
);
const vendorOf = (directory: string) => vendors.find((one) => one.directory === directory)!;

let receiver: VendorReceiver;
let sandbox: Sandbox;
let own: Sandbox;
const tools_dir = mkdtempSync(join(tmpdir(), 'sluice-choices-'));
const definitions = new Map<string, ToolDefinition>();

before(async () => {
  receiver = await openVendorReceiver(vendors);
  const open = (dir: object) =>
    openSandbox({
      outbound: { fetch: receiver.fetch },
      log: silentLog(),
      clock: systemClock,
      public_url: 'http://127.0.0.1',
      ...dir,
    });
  sandbox = await open({});
  writeToolPackage(tools_dir, { version: '1.0.0', directories: ['offering'], code: offering_code });
  own = await open({ tools_dir });
  for (const { directory } of vendors) definitions.set(directory, await definitionOf(directory));
});
after(async () => {
  await sandbox.close();
  await own.close();
  await receiver.close();
  rmSync(tools_dir, { recursive: true });
});

async function definitionOf(directory: string): Promise<ToolDefinition> {
  const library = sandbox.toolLibrary()!;
  const entry = listTools().find((one) => one.directory === directory)!;
  const signal = AbortSignal.timeout(60_000);
  const described = await describeTool(sandbox, library, directory, signal);
  return toolOf(toolFiles(entry, described, library.version))!;
}

type Asked = Partial<ChoicesQuestion> & Pick<ChoicesQuestion, 'action' | 'field'>;

/** Asks a vendor's tool with the settings that fit, or with others. */
function ask(directory: string, asked: Asked, settings: Record<string, unknown> = {}) {
  const vendor = vendorOf(directory);
  const given = { ...vendor.settings, ...settings };
  return askToolChoices(
    {
      sandbox,
      outbound: { fetch: receiver.fetch },
      // As a connection gives its token and what came with it.
      withTokens: (call) => (method, payload, signal) =>
        call(method, { ...(payload as object), settings: given }, signal),
    },
    {
      definition: definitions.get(directory)!,
      config: {},
      secrets: ['right', 'wrong'],
      allowed_hosts: vendor.hosts,
      mapping: {},
      page: null,
      ...asked,
    },
  );
}

function askHostile(field: string, more: Asked | object = {}, answer?: TrialFetch, ms?: number) {
  return askToolChoices(
    { sandbox: own, outbound: { fetch: answer ?? receiver.fetch }, withTokens: (call) => call },
    {
      definition: offering_definition,
      config: { api_key: 'pl4nted-key', endpoint: 'https://tool.acme.com/' },
      secrets: ['pl4nted-key'],
      allowed_hosts: ['tool.acme.com'],
      action: 'run',
      field,
      mapping: {},
      page: null,
      ...more,
    },
    ms,
  );
}

const shown = ({ choices }: ToolChoices) => choices.map(({ value, label }) => [value, label]);

test('Four vendors give the choices of their accounts, as they document them', async () => {
  const lists = await ask('klaviyo', { action: 'subscribeProfile', field: 'list_id' });
  assert.deepEqual(lists.error, null);
  assert.deepEqual(shown(lists), [
    ['Y6nRLr', 'Newsletter'],
    ['X1abcd', 'Early <b>birds</b>'],
  ]);
  // It asks page after page, until one is empty.
  assert.deepEqual(shown(await ask('braze', { action: 'triggerCampaign', field: 'campaign_id' })), [
    ['01234567-0000-4000-8000-000000000001', 'Welcome'],
  ]);
  const objects = await ask('salesforce', { action: 'customObject2', field: 'customObjectName' });
  assert.deepEqual(shown(objects), [
    ['Account', 'Account'],
    ['Car__c', 'Car'],
  ]);
  assert.equal(objects.next_page, null, 'its function gives the first page for any page');
  const upsert = { action: 'upsertObject' };
  const types = await ask('hubspot', { ...upsert, field: 'object_details.object_type' });
  assert.deepEqual(shown(types)[0], ['p12345_cars', 'Cars (Custom)']);
  const keys = { ...upsert, field: 'properties.__keys__' };
  const mapping = { object_details: { object_type: 'contact' }, association: { '@x': 1 } };
  assert.deepEqual(shown(await ask('hubspot', { ...keys, mapping })), [['city', 'City - string']]);
  const of_list = { ...upsert, field: 'associations.[0].id_field_name' };
  const associations = [{ object_type: 'p12345_cars', object_name: { '@path': '$.name' } }];
  assert.deepEqual(shown(await ask('hubspot', { ...of_list, mapping: { associations } })), [
    ['hs_object_id', 'Hubspot Record ID (updates only)'],
    ['email', 'Email'],
  ]);
  assert.deepEqual(receiver.faults, []);
});

test('A field that another one decides says which', async () => {
  const { error } = await ask('hubspot', {
    action: 'upsertObject',
    field: 'properties.__keys__',
    mapping: { object_details: { object_type: { '@path': '$.properties.type' } } },
  });
  assert.equal(error?.code, 'refused');
  assert.match(error.detail, /gives no choices: Select a value from the 'Object Type' field/);
});

test('A wrong key, a limit and an outage are told apart, and name what to do', async () => {
  for (const [directory, action, field] of [
    ['klaviyo', 'subscribeProfile', 'list_id'],
    ['braze', 'triggerCampaign', 'campaign_id'],
    ['hubspot', 'upsertObject', 'object_details.object_type'],
    ['salesforce', 'customObject', 'customObjectName'],
  ] as const) {
    const vendor = vendorOf(directory);
    const denied = await ask(directory, { action, field }, vendor.wrong);
    assert.deepEqual([denied.error?.code, denied.choices], ['denied', []], directory);
    assert.match(denied.error!.detail, /refuses the settings \(401\)\. Check the key/);
    assert.doesNotMatch(denied.error!.detail, /wrong\b/);
    receiver.next(vendor, 'limited', 1);
    assert.equal((await ask(directory, { action, field })).error?.code, 'limited', directory);
    receiver.next(vendor, 'outage', 1);
    const out = await ask(directory, { action, field });
    assert.match(out.error?.detail ?? '', /does not answer now\. Try again later/, directory);
  }
});

test('A host that is not allowed is named, and so is one that the guard refuses', async () => {
  const asked = { action: 'subscribeProfile', field: 'list_id' };
  const { error } = await ask('klaviyo', { ...asked, allowed_hosts: ['b.klaviyo.com'] });
  assert.deepEqual([error?.code, error?.hosts], ['host_not_allowed', ['a.klaviyo.com']]);
  assert.match(error!.detail, /may not reach a\.klaviyo\.com\. Add it to the allowed hosts/);
  const hidden = await askHostile('hidden');
  assert.deepEqual(hidden.error?.hosts, ['elsewhere.acme.com'], 'the function tells of nothing');
  const guard: TrialFetch = async () => {
    throw new OutboundRefused('The address is not globally reachable.');
  };
  const guarded = await askHostile('endless', {}, guard);
  assert.equal(guarded.error?.code, 'refused');
  assert.match(guarded.error.detail, /not globally reachable/);
});

test('Hostile answers are read within bounds, and repeat no secret', async () => {
  const many = await askHostile('many');
  assert.deepEqual([many.choices.length, many.omitted], [5_000, 2_000]);
  const strange = await askHostile('strange');
  assert.deepEqual(shown(strange), [
    ['same', 'one'],
    ['1.5', '1.5'],
    ['<b>', '\uFFFD\uFFFD'],
  ]);
  assert.deepEqual([strange.choices[1]!.description!.length, strange.next_page], [300, null]);
  for (const field of ['list', 'nothing'])
    assert.deepEqual((await askHostile(field)).choices, [], field);
  assert.deepEqual(shown(await askHostile('echo')), [['k-********', '********']]);
  const told = await askHostile('told');
  assert.match(told.error!.detail, /Wrong \*{8} Or type the value/);
  let count = 0;
  const answers: TrialFetch = async () => {
    count += 1;
    return new Response('{}');
  };
  assert.match((await askHostile('endless', {}, answers)).error!.detail, /more than 100 requests/);
  assert.equal(count, 100);
});

test('A next page is told only if the function reads which page is wanted', async () => {
  const first = await askHostile('pages');
  assert.deepEqual([shown(first), first.next_page], [[['p1', '1']], '2']);
  const second = await askHostile('pages', { page: '2' });
  assert.deepEqual([shown(second), second.next_page], [[['p2', '2']], null]);
  assert.equal((await askHostile('unpaged')).next_page, null);
});

test('A slow tool and a busy one end in time', async () => {
  const slow: TrialFetch = async (_url, init = {}) => {
    await pause(60_000, undefined, { signal: init.signal! });
    return new Response('{}');
  };
  for (const field of ['endless', 'waits', 'busy']) {
    const began = performance.now();
    const { error } = await askHostile(field, {}, slow, 1_500);
    assert.equal(error?.code, 'timeout', JSON.stringify(error));
    assert.match(error.detail, /did not answer within 1\.5 s\. Try again/);
    assert.ok(performance.now() - began < 20_000, field);
  }
});

test('A tool without its package or its connection says what to do', async () => {
  const field = { action: 'subscribeProfile', field: 'list_id' };
  const old = { ...definitions.get('klaviyo')!, version: '1.2.3' };
  const { error } = await ask('klaviyo', { ...field, definition: old });
  assert.deepEqual(error?.code, 'not_ready');
  assert.match(error.detail, /Upgrade this plugin/);
  const held = await askToolChoices(
    {
      sandbox,
      outbound: { fetch: receiver.fetch },
      withTokens: () => async () => {
        throw new HoldError('The tool is not connected.');
      },
    },
    {
      definition: definitions.get('hubspot')!,
      config: {},
      secrets: [],
      allowed_hosts: [],
      action: 'upsertObject',
      field: 'object_details.object_type',
      mapping: {},
      page: null,
    },
  );
  assert.deepEqual(held.error, {
    code: 'not_ready',
    detail: 'The tool is not connected.',
    hosts: [],
  });
});

test('Exactly the fields with a function are dynamic', async () => {
  const saleswings = await definitionOf('saleswings');
  assert.equal(saleswings.actions['submitPageEvent']!.fields['userID']!.dynamic, undefined);
  const pipedrive = await definitionOf('pipedrive');
  assert.equal(pipedrive.actions['createUpdateActivity']!.fields['type']!.dynamic, true);
  const { fields } = definitions.get('hubspot')!.actions['upsertObject']!;
  assert.equal(fields['properties']!.dynamic, true);
  assert.equal(fields['associations']!.properties!['id_field_name']!.dynamic, true);
  assert.equal(fields['associations']!.properties!['id_field_value']?.dynamic, undefined);
});
