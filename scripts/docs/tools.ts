import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ToolEntry } from '../../server/engine/plugins/tools/catalogue.ts';
import { findVendor } from '../../server/engine/plugins/oauth/vendors.ts';
import { tool_package } from '../../server/engine/plugins/sandbox/tool_library.ts';

// Writes the catalogue of tools out of the installed package: `npm run docs:tools`.

type Definition = {
  name: string;
  slug?: string;
  mode: string;
  authentication?: { scheme: string };
  audienceConfig?: object;
  actions: Record<string, Action>;
};
type Action = { fields: Record<string, { required?: unknown; default?: unknown }> };
type Manifest = Record<string, { definition: Definition; directory: string }>;

const file = fileURLToPath(
  new URL('../../server/engine/plugins/tools/tools.json', import.meta.url),
);
const require = createRequire(import.meta.url);
const package_file = require.resolve(`${tool_package}/package.json`);
const { manifest } = require(tool_package) as { manifest: Manifest };

/** Clients that use sockets: the server connects for them. */
const other_clients = /require\("(?:kafkajs|ssh2-sftp-client|@aws-sdk\/[^"]+)"\)/;

/** Variables that the AWS clients read: the account of the server's operator. */
const aws = [
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'AWS_REGION',
  'AWS_ENDPOINT_URL',
];

/** Destinations that use variables of the operator; the first one is required. */
const variables: Record<string, string[]> = {
  'aws-kinesis': [
    ...aws,
    'AMAZON_KINESIS_ACTIONS_ROLE_ADDRESS',
    'AMAZON_KINESIS_ACTIONS_EXTERNAL_ID',
  ],
  'facebook-conversions-api': ['ACTIONS_FB_CAPI_SYSTEM_USER_TOKEN'],
  s3: [...aws, 'AMAZON_S3_ACTIONS_ROLE_ADDRESS', 'AMAZON_S3_ACTIONS_EXTERNAL_ID'],
};
/** Destinations that only their makers can sign in to. */
const secret = ['apolloio', 'braze-cohorts'];
/** A destination without finished code: it accepts events and sends none. */
const unwritten = 'twilio-messaging-omnichannel';
/** Destinations whose events only the maker's own systems pass on: they send no requests. */
const handing = ['segment', 'segment-profiles'];

/** Returns the text of all files of a destination. */
function codeOf(directory: string): string {
  const folder = join(package_file, '..', 'dist', 'destinations', directory);
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return files
    .filter((name) => name.endsWith('.js') && !name.includes('__tests__'))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('\n');
}

// EventBridge sends as its makers, who are a partner of AWS.
const internal = /^(?:noop|.*-internal|.*-dev|engage-messaging-.*|amazon-eventbridge)$/;
/** Destinations that take events and audiences; one takes only audiences and does not say so. */
const mixed = ['klaviyo', 's3'];
const audiences = ['liveramp-audiences'];

/** True for an action that requires an audience of its makers. */
function needsAudience({ fields }: Action): boolean {
  return Object.values(fields).some(
    ({ required, default: value }) =>
      required === true && (JSON.stringify(value) ?? '').includes('context.personas'),
  );
}

/** Returns the reason why a destination is no entry; undefined for an entry. */
function reasonOf(
  directory: string,
  { authentication, audienceConfig, mode, actions }: Definition,
) {
  if (mode !== 'cloud') return 'runs in browsers';
  const usesOauth = authentication?.scheme.startsWith('oauth') === true;
  const isKnown = findVendor(directory) !== undefined;
  if (internal.test(directory)) return 'is for its makers alone';
  if (handing.includes(directory)) return "sends nothing outside of its makers' systems";
  if (directory === unwritten) return 'sends nothing at all';
  if (secret.includes(directory)) return 'needs a secret of its makers';
  const isAudience =
    audienceConfig !== undefined ||
    audiences.includes(directory) ||
    Object.values(actions).every(needsAudience);
  if (isAudience && !mixed.includes(directory)) return 'synchronizes audiences';
  return usesOauth && !isKnown ? 'is not in oauth/vendors.json' : undefined;
}

/** Pages that the code only links to, and names of examples. */
const pages =
  /^(?:docs?|support|help|developers?|documentation)\.|(?:^|\.)(?:example|localhost|mydomain|w3|rfc-editor|json-schema|segment|github)\.\w+$/;

/** Returns the hosts of addresses in code; a part that settings decide becomes `*.`. */
function hostsOf(code: string): string[] {
  const hosts = [...code.matchAll(/https?:\/\/((?:\$\{[^}]*\}|[\w.-])+)/g)].flatMap(([, host]) => {
    const fixed = host!.slice(host!.lastIndexOf('}') + 1).toLowerCase();
    const isVaried = host!.includes('}');
    const name = isVaried ? fixed.slice(fixed.indexOf('.') + 1) : fixed;
    const isName = /^(?:[a-z0-9-]+\.)+[a-z]{2,}$/.test(name) && (!isVaried || fixed.includes('.'));
    return isName && !pages.test(name) ? [isVaried ? `*.${name}` : name] : [];
  });
  return [...new Set(hosts)].sort();
}

/** Hosts that code composes, and one that it calls besides pages for readers. */
const known_hosts: Record<string, string[]> = {
  courier: ['api.courier.com', 'api.eu.courier.com'],
  launchdarkly: ['clientsdk.launchdarkly.com', 'events.launchdarkly.com'],
  ortto: ['*.ortto.app'],
  recombee: ['*.recombee.com'],
  slack: ['hooks.slack.com'],
  trubrics: ['app.trubrics.com'],
  'twilio-studio': ['api.twilio.com', 'profiles.segment.com', 'studio.twilio.com'],
  yotpo: ['developers.yotpo.com'],
  zapier: ['hooks.zapier.com'],
};

/** Names that their makers spell otherwise. */
const names: Record<string, string> = {
  'aws-kinesis': 'AWS Kinesis',
  customerio: 'Customer.io',
};

function plainName(name: string): string {
  return name.replace(/^Actions /, '').replace(/ \(Actions\)$| Cloud Mode(?: \(Actions\))?$/, '');
}

const skipped = new Map<string, string[]>();
const entries = Object.entries(manifest).flatMap(
  ([id, { definition, directory }]): Omit<ToolEntry, 'description'>[] => {
    const code = codeOf(directory);
    const reason = reasonOf(directory, definition);
    if (reason !== undefined) {
      skipped.set(reason, [...(skipped.get(reason) ?? []), directory]);
      return [];
    }
    const { slug = directory } = definition;
    const name = names[directory] ?? plainName(definition.name);
    return [
      {
        directory,
        id,
        slug,
        name,
        hosts:
          known_hosts[directory] ??
          (/@aws-sdk\/|\/lib\/AWS\//.test(code) ? ['*.amazonaws.com'] : hostsOf(code)),
        ...(Object.hasOwn(variables, directory) ? { variables: variables[directory]! } : {}),
        ...(other_clients.test(code) ? { opens_sockets: true } : {}),
      },
    ];
  },
);
const sorted = entries.toSorted((one, other) => one.name.localeCompare(other.name, 'en'));
const lines = sorted.map((entry) => JSON.stringify(entry));
writeFileSync(file, `[\n${lines.join(',\n')}\n]\n`);
for (const [reason, directories] of skipped)
  console.log(`${directories.length} ${reason}: ${directories.join(', ')}`);
console.log(`${sorted.length} tools`);
