import { toolCode } from '../../../server/engine/plugins/tools/tool.ts';
import type {
  ToolDescription,
  ToolField,
  ToolMapping,
} from '../../../server/engine/plugins/tools/tool.ts';
import { presetsOf, templatesOf } from '../../../server/engine/plugins/tools/mappings.ts';
import { toolProgram } from '../../../server/engine/plugins/sandbox/tool_program.ts';
import type { ToolOutcome } from '../../../server/engine/plugins/sandbox/tool_outcome.ts';
import { openSandbox } from '../../../server/engine/plugins/sandbox/sandbox.ts';
import type { LoadedPlugin } from '../../../server/engine/plugins/sandbox/sandbox.ts';
import type { Outbound } from '../../../server/platform/outbound/outbound.ts';
import { systemClock } from '../../../server/platform/clock.ts';
import { silentLog } from '../../../server/platform/log.ts';
import { Response } from 'undici';
import { emptyRecord, platformInMemory } from './plugin_sandbox.ts';

/** A tool's request. */
export type RecordedRequest = { url: string; method: string };

/** The path from a tool's request to its answer. */
export type TrialFetch = Outbound['fetch'];

const answerAll: TrialFetch = async () =>
  new Response('{}', { headers: { 'content-type': 'application/json' } });

/** Settings and fields that replace made-up ones, and changes of the event. */
export type TrialValues = {
  settings?: Record<string, unknown>;
  fields?: Record<string, unknown>;
  event?: Record<string, unknown>;
};

/** Tools of the installed library in one process, and a receiver that answers 200 to everything. */
export type ToolTrials = {
  /** Loads a tool; `variables` are the operator's, for a separate process. */
  load(directory: string, variables?: Record<string, string>): Promise<LoadedPlugin>;
  describe(tool: LoadedPlugin): Promise<ToolDescription>;
  /** Returns the outcome of an event that fits the mapping, and the tool's requests. */
  send(
    tool: LoadedPlugin,
    description: ToolDescription,
    mapping: ToolMapping,
    more?: TrialValues,
  ): Promise<{ outcome: ToolOutcome; requests: RecordedRequest[] }>;
  close(): Promise<void>;
};

// All names are below one of these, and no request leaves the process.
const endings =
  'com io net co app ai dev run cloud jp de eu us ' +
  'ca uk me se so in org tech live site digital pm pro one';
const allowed_hosts = endings.split(' ').map((ending) => `*.${ending}`);

/** Opens the receiver; the process starts with the first tool. */
export async function openToolTrials(answer = answerAll): Promise<ToolTrials> {
  let requests: RecordedRequest[] = [];
  const fetch: TrialFetch = async (url, init = {}) => {
    requests.push({ url: String(url), method: init.method ?? 'GET' });
    return answer(url, init);
  };
  const sandbox = await openSandbox({
    outbound: { fetch },
    log: silentLog(),
    clock: systemClock,
    public_url: 'http://127.0.0.1',
  });
  const library = sandbox.toolLibrary();
  if (library === undefined) throw new Error('The package of tools is not installed.');
  const signal = () => AbortSignal.timeout(60_000);
  return {
    load: (directory, variables = {}) =>
      sandbox.load({
        id: directory,
        code: toolCode(directory),
        config: {},
        allowed_hosts,
        host: platformInMemory(emptyRecord()),
        process: {
          name: `trials ${JSON.stringify(variables)}`,
          program: () => toolProgram({ ...library, variables }, Object.keys(variables)),
        },
      }),
    describe: (tool) => tool.call('describe', null, signal()) as Promise<ToolDescription>,
    send: async (tool, { slug = '', settings, actions }, mapping, more = {}) => {
      requests = [];
      const fields = actions[mapping.partnerAction]!.fields;
      const settled = Object.entries(settings).map(
        ([key, field]) => [key, valueFor(slug, key, field)] as const,
      );
      let values = { ...filled(slug, fields, mapping.mapping), ...more.fields };
      for (let round = 0; ; round += 1) {
        requests = [];
        const payload = {
          event: merged(eventFor(mapping.subscribe), more.event ?? {}),
          settings: { ...Object.fromEntries(settled), oauth, ...more.settings },
          mapping: { ...mapping, mapping: values },
        };
        const outcome = await (tool.call('send', payload, signal()) as Promise<ToolOutcome>).catch(
          (error: Error): ToolOutcome => ({
            kind: 'refused',
            status: null,
            reason: error.message,
            retry_after: null,
          }),
        );
        const named = 'reason' in outcome ? asked(slug, fields, outcome.reason) : {};
        if (Object.keys(named).length === 0 || round === rounds_max) return { outcome, requests };
        values = { ...values, ...named };
      }
    },
    close: () => sandbox.close(),
  };
}

/** The mappings of a destination, with one for each action that no preset has. */
export function mappingsOf(description: ToolDescription): ToolMapping[] {
  const presets = presetsOf(description);
  const known = new Set(presets.map(({ partnerAction }) => partnerAction));
  return [
    ...presets,
    ...templatesOf(description).filter(({ partnerAction }) => !known.has(partnerAction)),
  ];
}

/** The context that SDKs send. */
const context = {
  ip: '198.51.100.7',
  userAgent: 'Mozilla/5.0 (X11; Linux x86_64)',
  locale: 'en-US',
  timezone: 'Europe/Berlin',
  groupId: 'acme',
  library: { name: 'analytics.js', version: '1.0.0' },
  page: {
    url: 'https://acme.com/lamp',
    path: '/lamp',
    search: '',
    title: 'Lamp',
    referrer: 'https://acme.com/',
  },
  device: { id: 'd1', type: 'ios', token: 't1', advertisingId: 'a1', model: 'm' },
  app: { name: 'Shop', version: '1.0', namespace: 'com.acme.shop' },
  os: { name: 'iOS', version: '18.0' },
};

/** Returns the event with other parts. */
export function merged(event: object, parts: object): object {
  const all = { ...event } as Record<string, unknown>;
  for (const [key, part] of Object.entries(parts)) {
    const isObject = typeof part === 'object' && part !== null && !Array.isArray(part);
    all[key] = isObject ? merged(all[key] ?? {}, part as object) : (part as unknown);
  }
  return all;
}

/** Returns a call of the first kind that the filter names, with values that many mappings read. */
export function eventFor(subscribe: string): object {
  const type = /type\s*=\s*["'](\w+)["']/.exec(subscribe)?.[1] ?? 'track';
  const event = /event\s*=\s*["']([^"']+)["']/.exec(subscribe)?.[1] ?? 'Signed Up';
  const traits = {
    email: 'ada@acme.com',
    phone: '+4915112345678',
    name: 'Ada Lovelace',
    first_name: 'Ada',
    last_name: 'Lovelace',
    firstName: 'Ada',
    lastName: 'Lovelace',
  };
  const product = {
    product_id: 'p1',
    variant: 'v1',
    variant_id: 'v1',
    sku: 's1',
    name: 'Lamp',
    price: 19.5,
    quantity: 2,
  };
  const now = new Date().toISOString();
  return {
    type,
    ...(type === 'track' ? { event } : {}),
    ...(type === 'page' || type === 'screen' ? { name: 'Home', category: 'Shop' } : {}),
    ...(type === 'group' ? { groupId: 'acme' } : {}),
    ...(type === 'alias' ? { previousId: 'before' } : {}),
    messageId: '0190163d-8694-739b-aea5-966c26f8ad91',
    userId: 'ada',
    anonymousId: 'anonymous-1',
    timestamp: now,
    originalTimestamp: now,
    receivedAt: now,
    sentAt: now,
    traits,
    properties: {
      ...product,
      products: [product],
      order_id: 'o1',
      checkout_id: 'c1',
      cart_id: 'c1',
      total: 39,
      revenue: 39,
      value: 39,
      currency: 'EUR',
      source: 'shop',
      category: 'lamps',
      query: 'lamp',
      url: 'https://acme.com/lamp',
      email: traits.email,
    },
    context: { ...context, traits },
  };
}

/** The values that a connection would provide. */
const oauth = { access_token: 'token', refresh_token: 'token', clientId: 'id', clientSecret: 'x' };
const rounds_max = 5;

/** The fields that a refusal names, filled in as a reader would fill them in. */
function asked(
  slug: string,
  fields: Record<string, ToolField>,
  reason: string,
): ToolMapping['mapping'] {
  const names = [...reason.matchAll(/value is missing the required field '([^']+)'/g)];
  return Object.fromEntries(
    names.flatMap(([, key = '']) =>
      Object.hasOwn(fields, key) ? [[key, plainFor(slug, key, fields[key]!)] as const] : [],
    ),
  );
}

/** Fields that identify a person, and their places in an event. */
const known: Record<string, string> = {
  user_id: '$.userId',
  userId: '$.userId',
  anonymous_id: '$.anonymousId',
  anonymousId: '$.anonymousId',
  email: '$.context.traits.email',
};

/** Returns the mapping with a value for each required field without one, and with the person. */
export function filled(
  slug: string,
  fields: Record<string, ToolField>,
  mapping: ToolMapping['mapping'],
) {
  const missing = Object.entries(fields).filter(
    ([key, { required }]) => required === true && (mapping[key] ?? null) === null,
  );
  const persons = Object.entries(known).filter(
    ([key]) => Object.hasOwn(fields, key) && (mapping[key] ?? null) === null,
  );
  return {
    ...mapping,
    ...Object.fromEntries(persons.map(([key, path]) => [key, { '@path': path }])),
    ...Object.fromEntries(missing.map(([key, field]) => [key, valueFor(slug, key, field)])),
  };
}

/** Addresses for tools that only accept their own hosts. */
const urls: Record<string, string> = {
  'actions-slack': 'https://hooks.slack.com/services/T/B/X',
  'actions-zapier': 'https://hooks.zapier.com/hooks/catch/1/x',
};

/** Returns a value for a field whose default is not in the event. */
function plainFor(slug: string, key: string, { default: _standard, ...field }: ToolField): unknown {
  return valueFor(slug, key, field);
}

/** Returns a value that fits the field, as far as its description tells. */
function valueFor(slug: string, key: string, field: ToolField): unknown {
  const { type, choices = [], default: standard, multiple } = field;
  const [choice] = choices;
  const one = () => {
    if (choice !== undefined) return typeof choice === 'string' ? choice : choice.value;
    if (type === 'boolean') return true;
    if (type === 'number' || type === 'integer') return 1;
    if (type === 'datetime') return new Date().toISOString();
    if (type === 'object') return objectFor(slug, field);
    if (/url|endpoint|uri/i.test(key)) return urls[slug] ?? 'https://receiver.acme.com/in';
    if (/email/i.test(key)) return 'ada@acme.com';
    return /domain|host/i.test(key) ? 'receiver.acme.com' : '12345';
  };
  return standard ?? (multiple === true ? [one()] : one());
}

/** Returns an object with its parts, as far as the field names them. */
function objectFor(slug: string, field: ToolField): object {
  const { properties = {} } = field as { properties?: Record<string, ToolField> };
  const parts = Object.entries(properties).filter(
    ([key, { required }]) => required === true || /^(email|external_?id)$/i.test(key),
  );
  if (parts.length === 0) return { id: 'x', name: 'Lamp' };
  return Object.fromEntries(parts.map(([key, part]) => [key, valueFor(slug, key, part)]));
}
