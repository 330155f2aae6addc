// Walks through the console in Chromium as a person does: thirteen journeys, from the link of the
// terminal to an outage of a real PostgreSQL and its repair. Counts clicks, groups of keys and
// seconds, says what the screen said when it mattered, and compares list, head, incident, run, map
// and notice at each moment of the outage. Exit code 1: a journey did not end as it must, or the
// browser complained. The outage needs root, for a small disk. Takes some 15 minutes.
// npm run journeys [-- --only Outage --shots /tmp/shots]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { journeys } from '../../test/journeys/journeys.ts';
import { openWorld } from '../../test/journeys/world.ts';
import { readOptions, refuse } from '../options.ts';

const { only, shots } = readOptions({ only: '', shots: '' });
const chosen = journeys.filter(({ name }) => new RegExp(only, 'i').test(name));
if (chosen.length === 0) refuse(`--only takes a part of a journey's name; none has ${only}.`);
const folder = mkdtempSync(join(tmpdir(), 'sluice-journeys-'));
const world = await openWorld(folder, shots === '' ? undefined : shots);
const rows: string[] = [];
let failed = 0;
try {
  for (const { name, walk } of chosen) {
    try {
      const walked = await world.walk(name, (walker) => walk(world, walker));
      const { clicks, typed, seconds, said, complaints } = walked;
      const is_whole = complaints.length === 0;
      if (!is_whole) failed += 1;
      console.log(`${is_whole ? 'ok ' : 'FAILED'}  ${name}`);
      for (const sentence of [...said, ...complaints.map((text) => `COMPLAINT ${text}`)])
        console.log(`      ${sentence}`);
      rows.push(`| ${name} | ${clicks} | ${typed} | ${seconds.toFixed(0)} s |`);
    } catch (error) {
      failed += 1;
      console.log(`FAILED  ${name}\n${String(error instanceof Error ? error.stack : error)}`);
    }
  }
} finally {
  await world.close();
}
console.log(
  ['', '| journey | clicks | typed | time |', '| --- | --- | --- | --- |', ...rows].join('\n'),
);
console.log(`${chosen.length - failed} of ${chosen.length} journeys are as they must be.`);
rmSync(folder, { recursive: true, force: true });
process.exitCode = failed === 0 ? 0 : 1;
