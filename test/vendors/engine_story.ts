import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readCatalogue, withTools } from '../../server/engine/plugins/packages/catalogue.ts';
import { toolUrl } from '../../server/engine/plugins/tools/catalogue.ts';
import type { ToolDefinition, ToolMapping } from '../../server/engine/plugins/tools/tool.ts';
import type { TestOrganization } from '../harness.ts';
import { eventFor, filled } from '../factories/plugins/tool_trials.ts';
import { until } from '../processes/server_process.ts';
import type { Vendor } from './description.ts';
import type { VendorReceiver } from './receiver.ts';
import { fill } from './template.ts';

const wait_ms_max = 120_000;
const day_ms = 86_400_000;

const soon = <Result>(what: string, ask: () => Promise<Result | undefined>) =>
  until(what, wait_ms_max, 50, ask);

type Story = {
  home: TestOrganization;
  vendor: Vendor;
  receiver: VendorReceiver;
  /** Delivers until it is stopped. */
  run(): { stop(): Promise<void> };
};

/**
 * Plays the life of a tool at its vendor. A wrong key is corrected, the vendor refuses an event
 * among others, and a limit and an outage follow. Throws at the first difference.
 */
export async function playVendor(story: Story): Promise<void> {
  const { vendor, receiver, run } = story;
  const tool = await installTool(story);
  const runner = run();
  try {
    if (Object.keys(vendor.wrong).length > 0) await playWrongKey(story, tool);
    else await tool.change(false);
    if (vendor.bad !== null) await playRefused(story, tool);
    await playRest(story, tool, 'limited', 1);
    await playRest(story, tool, 'outage', 4);
    assert.deepEqual(receiver.faults, []);
    const aside = await tool.aside();
    assert.equal(aside.length, vendor.bad === null ? 0 : 1, JSON.stringify(aside));
  } finally {
    await runner.stop();
  }
}

type Tool = {
  mapping: ToolMapping;
  read(): Promise<{ error: { message: string } | null }>;
  aside(): Promise<{ reason: string; event_uuid: string }[]>;
  /** Sets the wrong key or the right one, and enables the tool. */
  change(isWrong: boolean): Promise<void>;
};

/** Returns the name of a vendor's tool in the catalogue. */
export function vendorTool({ directory }: Vendor): string {
  const catalogue = withTools(readCatalogue(undefined));
  return catalogue.find(({ url }) => url === toolUrl(directory))!.name;
}

/** Returns the tested mapping of a vendor, with a value in each required field. */
export function vendorMapping(
  vendor: Vendor,
  { presets, templates, actions }: ToolDefinition,
): ToolMapping {
  const wanted = vendor.bad?.mapping ?? 'Custom Event';
  const all = [...presets, ...templates];
  const mapping = all.find(({ name }) => name === wanted) ?? assert.fail(`No mapping ${wanted}.`);
  const { fields } = actions[mapping.partnerAction]!;
  const values = filled('', fields, mapping.mapping);
  return {
    ...mapping,
    mapping: { ...values, ...vendor.fields?.[mapping.partnerAction] },
  };
}

async function installTool({ home, vendor }: Story): Promise<Tool> {
  const collection = `/api/organizations/${home.organization.id}/pipeline_destinations/`;
  const name = vendorTool(vendor);
  const installed = await home.ask('POST', collection, { plugin_type: 'repository', name });
  assert.equal(installed.status, 201, installed.text);
  const { id: plugin } = installed.body;
  const source = await home.ask('GET', `${collection}${plugin}/source/`);
  const mapping = vendorMapping(vendor, JSON.parse(source.body.source['destination.json']));
  const { $fields = {}, ...wrong } = vendor.wrong;
  const configOf = (isWrong: boolean) => {
    const values = { ...mapping.mapping, ...(isWrong ? ($fields as object) : {}) };
    return {
      ...vendor.settings,
      ...(isWrong ? wrong : {}),
      mappings: JSON.stringify([{ ...mapping, mapping: values }]),
    };
  };
  const list = `/api/projects/${home.project.id}/plugin_configs/`;
  const body = { plugin, enabled: false, config: configOf(true), allowed_hosts: vendor.hosts };
  const created = await home.ask('POST', list, body);
  assert.equal(created.status, 201, created.text);
  const url = `${list}${created.body.id}/`;
  return {
    mapping,
    read: async () => (await home.ask('GET', url)).body,
    aside: async () => (await home.ask('GET', `${url}set_aside/`)).body.results,
    change: async (isWrong) => {
      const changed = await home.ask('PATCH', url, { enabled: true, config: configOf(isWrong) });
      assert.equal(changed.status, 200, changed.text);
    },
  };
}

/** Sends events of this many persons; the last one is the vendor's bad one, on request. */
async function sendEvents(
  { home, vendor }: Story,
  { mapping }: Tool,
  count: number,
  isBadLast = false,
): Promise<void> {
  const call = eventFor(mapping.subscribe) as { event?: string; properties: object };
  const events = Array.from({ length: count }, (_, number) => {
    const isBad = isBadLast && number === count - 1;
    const person = `person-${randomUUID().slice(0, 8)}`;
    const { event, timestamp, userId, traits, properties } = isBad ? badParts(vendor) : {};
    const email = `${person}@acme.com`;
    return {
      uuid: randomUUID(),
      event: event ?? call.event ?? '$identify',
      distinct_id: userId ?? person,
      timestamp: timestamp ?? new Date().toISOString(),
      properties: {
        ...call.properties,
        ...properties,
        $set: { email, phone: '+4915112345678', name: 'Ada', company: 'Acme', ...traits },
      },
    };
  });
  const answer = await home.ask('POST', `/api/projects/${home.project.id}/events/`, { events });
  assert.equal(answer.status, 200, answer.text);
}

type Parts = {
  event?: string;
  timestamp?: string;
  userId?: string;
  traits?: object;
  properties?: object;
};

function badParts({ bad }: Vendor): Parts {
  const old = new Date(Date.now() - 400 * day_ms).toISOString();
  return fill(bad!.event, { long: 'x'.repeat(300), old }) as Parts;
}

async function taken({ vendor, receiver }: Story, count: number): Promise<void> {
  await soon(`${count} events at ${vendor.name}`, async () =>
    receiver.kept(vendor).length >= count ? true : undefined,
  );
  assert.equal(receiver.kept(vendor).length, count);
}

async function playWrongKey(story: Story, tool: Tool): Promise<void> {
  await tool.change(true);
  await sendEvents(story, tool, 3);
  const { error } = await soon('the hold', async () => {
    const config = await tool.read();
    return config.error === null ? undefined : config;
  });
  assert.match(error!.message, /^The tool does not accept the settings: .*none is lost\.$/s);
  assert.equal(story.receiver.kept(story.vendor).length, 0);
  await tool.change(false);
  await taken(story, 3);
  assert.deepEqual(await tool.aside(), []);
}

async function playRefused(story: Story, tool: Tool): Promise<void> {
  const count = story.receiver.kept(story.vendor).length;
  await sendEvents(story, tool, 5, true);
  await taken(story, count + 4);
  const [refused, ...others] = await soon('the refused event', async () => {
    const list = await tool.aside();
    return list.length > 0 ? list : undefined;
  });
  assert.deepEqual(others, []);
  assert.ok(
    refused!.reason.toLowerCase().includes(story.vendor.bad!.says.toLowerCase()),
    refused!.reason,
  );
}

/**
 * Asserts that no request follows too early after an answer that requests a pause, and that all
 * events are accepted in the end.
 */
async function playRest(
  story: Story,
  tool: Tool,
  way: 'limited' | 'outage',
  times: number,
): Promise<void> {
  const { vendor, receiver } = story;
  const count = receiver.kept(vendor).length;
  const asked = receiver.asked(vendor).length;
  receiver.next(vendor, way, times);
  await sendEvents(story, tool, 3);
  await taken(story, count + 3);
  const { rest_seconds, is_of_person = false } = vendor.limited;
  if (way === 'outage' || rest_seconds === null || is_of_person) return;
  const [limited, ...later] = receiver.asked(vendor).slice(asked);
  // Concurrent requests arrived before the answer.
  const after = later.find((at) => at - limited! > 1_000)!;
  assert.ok(after - limited! >= (rest_seconds - 1) * 1_000, `${after - limited!} ms`);
}
