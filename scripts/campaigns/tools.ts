/**
 * Loads every tool of the catalogue, and sends an event by each of its mappings to a receiver that
 * answers 200 (`npm run tools`). A request to a host that the form of the tool does not propose is
 * a fault, also with each choice of each setting. `--write` writes the table of docs/tools.md,
 * `--only slack,braze` tries the tools of these directories.
 */
import '../require_node.mjs';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { listTools } from '../../server/engine/plugins/tools/catalogue.ts';
import type { ToolEntry } from '../../server/engine/plugins/tools/catalogue.ts';
import type { ToolDescription } from '../../server/engine/plugins/tools/tool.ts';
import { readVendors } from '../../test/vendors/vendors.ts';
import { mappingsOf, openToolTrials } from '../../test/factories/plugins/tool_trials.ts';
import type { RecordedRequest } from '../../test/factories/plugins/tool_trials.ts';
import { Response } from 'undici';
import { readOptions } from '../options.ts';
import { answerAt, sampleOf } from './tools/samples.ts';

const heading = '## Tools';
const page = fileURLToPath(new URL('../../docs/tools.md', import.meta.url));
const { write, only } = readOptions({ write: false, only: '' });
const trials = await openToolTrials(async (url) => {
  const answer = answerAt(String(url));
  const isText = typeof answer === 'string';
  return new Response(isText ? answer : JSON.stringify(answer), {
    headers: { 'content-type': isText ? 'text/xml' : 'application/json' },
  });
});
// One stays loaded, so that its process stays too.
await trials.load('slack');
/** Tools with their own clients, and the peer that `npm run tool_peers` sends to. */
const peers: Record<string, string> = {
  'aws-kinesis': 'Kinesis and STS of moto',
  kafka: 'Apache Kafka 4.1.0',
  s3: 'S3 and STS of moto',
  sftp: "OpenSSH's server 9.2",
};
/** Tools that were tested with a receiver that answers as their vendors document. */
const played = new Set(readVendors().map(({ directory }) => directory));
const rows: string[] = [];
const reasons = new Set<string>();
const silent: ToolEntry[] = [];
const faults: string[] = [];
let [sent, all] = [0, 0];

const chosen = listTools().filter(
  ({ directory }) => only === '' || only.split(',').includes(directory),
);
for (const entry of chosen) {
  const { directory, name } = entry;
  const tool = await trials.load(directory);
  const description = await trials.describe(tool);
  let [delivered, mappings] = [0, 0];
  for (const mapping of mappingsOf(description)) {
    mappings += 1;
    const { subscribe = mapping.subscribe, ...values } = sampleOf(directory, mapping.partnerAction);
    const sample = { ...mapping, subscribe };
    const { outcome, requests } = await trials.send(tool, description, sample, values);
    noteHosts(entry, requests);
    for (const choice of delivered === 0 ? choicesOf(description) : []) {
      const chosen_values = { ...values, settings: { ...values.settings, ...choice } };
      noteHosts(entry, (await trials.send(tool, description, sample, chosen_values)).requests);
    }
    if (outcome.kind === 'sent' && requests.length > 0) delivered += 1;
    else {
      console.log(`${directory} ${mapping.partnerAction}: ${JSON.stringify(outcome)}`);
      const reason = 'reason' in outcome ? outcome.reason : `The tool says: ${outcome.kind}.`;
      if (!Object.hasOwn(peers, directory))
        reasons.add(`| ${cell(name)} | \`${mapping.partnerAction}\` | ${cell(reason)} |`);
    }
  }
  await tool.close();
  [sent, all] = [sent + delivered, all + mappings];
  const actions = Object.keys(description.actions).length;
  const peer = peers[directory];
  if (delivered === 0 && peer === undefined) silent.push(entry);
  const reached = peer === undefined ? `${delivered} of ${mappings}` : 'see the last column';
  const ours = played.has(directory) ? 'its documented answers' : 'a receiver of ours';
  rows.push(`| ${cell(name)} | ${actions} | ${reached} | ${peer ?? ours} |`);
}
await trials.close();
const { length: none } = silent;
console.log(`${rows.length} tools, ${sent} of ${all} mappings delivered, ${none} tools none.`);
for (const fault of new Set(faults)) console.log(fault);
if (faults.length > 0) process.exitCode = 1;
if (write && only === '') {
  const [prose = ''] = readFileSync(page, 'utf8').split(`\n${heading}\n`);
  const { length: peer_count } = Object.keys(peers);
  const reached = rows.length - peer_count - silent.length;
  const isPlayed = ({ directory }: ToolEntry) => played.has(directory);
  const namesOf = (tools: ToolEntry[]) => tools.map(({ name }) => name);
  const never = namesOf(silent.filter((entry) => !isPlayed(entry)));
  const elsewhere = namesOf(silent.filter(isPlayed));
  const sum = [
    `${sent} of all ${all} mappings reached the receiver: at least one of each of ${reached} ` +
      `tools. ${peer_count} tools sent to real peers, and ${none} sent no event here.`,
    `${played.size} tools with "its documented answers" also sent to a receiver that answers ` +
      '[as the vendor does](tools_delivered.md#the-answers-of-vendors), with the ids and objects ' +
      `that the vendor wants. ${elsewhere.join(' and ')} sent events only there.`,
    never.length === 0
      ? 'Each tool has sent an event.'
      : `${never.length} tools have never sent an event: ${never.join(', ')}.`,
  ]
    .map(wrapped)
    .join('\n\n');
  const head =
    '| Tool | Actions | Mappings that reached a receiver that answers 200 | Verified against |\n' +
    '| --- | --- | --- | --- |';
  const missing =
    '## Mappings that did not reach the receiver\n\n' +
    'The event of this test lacks what they want, or they want a real answer first.\n\n' +
    `| Tool | Action | Reason |\n| --- | --- | --- |\n${[...reasons].join('\n')}`;
  writeFileSync(
    page,
    `${prose}\n${heading}\n\n${sum}\n\n${head}\n${rows.join('\n')}\n\n${missing}\n`,
  );
}

/** Each value of each setting with choices, such as a region. */
function choicesOf({ settings }: ToolDescription): Record<string, unknown>[] {
  return Object.entries(settings).flatMap(([key, { choices = [] }]) =>
    choices.map((one) => ({ [key]: typeof one === 'string' ? one : one.value })),
  );
}

function noteHosts(entry: ToolEntry, requests: RecordedRequest[]): void {
  for (const { url } of requests) {
    const { hostname } = new URL(url);
    if (!isProposed(entry, hostname))
      faults.push(`${entry.directory} does not propose ${hostname}.`);
  }
}

/** True for a host of the settings, or one that the form proposes. */
function isProposed({ directory, hosts }: ToolEntry, hostname: string): boolean {
  // Responsys copies its answers to a source of Segment, if a key for it is set.
  if (directory === 'responsys' && hostname === 'api.segment.io') return true;
  return [...hosts, '*.acme.com'].some((host) =>
    host.startsWith('*.') ? hostname.endsWith(host.slice(1)) : hostname === host,
  );
}

/** Returns the text in lines of up to 100 characters. */
function wrapped(text: string): string {
  return text.replaceAll(/(.{1,100})(?: |$)/g, '$1\n').trimEnd();
}

/** Returns the text in a cell of the table. */
function cell(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|').replaceAll('<', '&lt;');
  return line.length > 140 ? `${line.slice(0, 140)} ...` : line;
}
