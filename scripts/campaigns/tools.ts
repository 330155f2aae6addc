/**
 * Loads every tool of the catalogue, and sends an event by each of its mappings to a receiver that
 * answers 200 (`npm run tools`). `--write` writes the table of docs/tools.md.
 */
import '../require_node.mjs';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { listTools } from '../../server/engine/plugins/tools/catalogue.ts';
import { mappingsOf, openToolTrials } from '../../test/factories/plugins/tool_trials.ts';

const heading = '## Tools';
const page = fileURLToPath(new URL('../../docs/tools.md', import.meta.url));
const trials = await openToolTrials();
// One stays loaded, so that the process does.
await trials.load('slack');
const rows: string[] = [];
let faults = 0;
let [sent, all] = [0, 0];

for (const { directory, name } of listTools()) {
  const tool = await trials.load(directory);
  const description = await trials.describe(tool);
  let [delivered, mappings] = [0, 0];
  for (const mapping of mappingsOf(description)) {
    mappings += 1;
    const { outcome, requests } = await trials.send(tool, description, mapping);
    if (outcome.kind === 'sent' && requests.length > 0) delivered += 1;
    else console.log(`${directory} ${mapping.partnerAction}: ${JSON.stringify(outcome)}`);
  }
  await tool.close();
  [sent, all] = [sent + delivered, all + mappings];
  if (delivered === 0) faults += 1;
  const actions = Object.keys(description.actions).length;
  rows.push(`| ${name.replaceAll('|', '\\|')} | ${actions} | ${delivered} of ${mappings} |`);
}
await trials.close();
console.log(`${rows.length} tools, ${sent} of ${all} mappings delivered, ${faults} tools none.`);
if (process.argv.includes('--write')) {
  const [prose = ''] = readFileSync(page, 'utf8').split(`\n${heading}\n`);
  const sum = `${sent} of ${all} mappings of ${rows.length - faults} tools reached the receiver.`;
  const head = `| Tool | Actions | Mappings that reached the receiver |\n| --- | --- | --- |`;
  writeFileSync(page, `${prose}\n${heading}\n\n${sum}\n\n${head}\n${rows.join('\n')}\n`);
}
