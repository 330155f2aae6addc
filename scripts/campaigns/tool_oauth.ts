// Tools and a real OAuth server: Keycloak, from Maven Central, is the vendor of a tool. A person
// connects the tool in Chromium; a receiver asks Keycloak about the token of each event. Refresh
// tokens are good once. Two processes refresh at once, and a worker is killed between the answer of
// Keycloak and its storing. Prints a line for each flow. Exit code 1: a flow did not end as it
// must. Wants java and mvn, and the package of tools. npm run tool_oauth
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findKeycloak, keycloak_version, whyNoKeycloak } from '../../test/keycloak/distribution.ts';
import { tool_flows } from '../../test/keycloak/tool_oauth/flows.ts';
import { openToolWorld } from '../../test/keycloak/tool_oauth/world.ts';
import { readOptions } from '../options.ts';

readOptions({});
const reason = await whyNoKeycloak();
if (reason !== undefined) {
  console.log(`Skipped: ${reason}`);
  process.exit(0);
}
const say = (line: string) => console.log(line);
const home = await findKeycloak(say);
const folder = mkdtempSync(join(tmpdir(), 'sluice-tool-oauth-'));
const began = performance.now();
const world = await openToolWorld(home, folder);
const seconds = () => Math.round((performance.now() - began) / 1000);
say(`Keycloak ${keycloak_version} and the server are ready after ${seconds()} s; in ${folder}`);
let failed = 0;
try {
  for (const { name, walk } of tool_flows) {
    try {
      await walk(world);
      say(`ok  ${name}`);
    } catch (error) {
      failed += 1;
      say(`FAILED  ${name}\n${String(error instanceof Error ? error.stack : error)}`);
    }
  }
  const { refused, taken } = world.receiver;
  say(`${taken.length} events came with an active token, ${refused} with another one`);
} finally {
  await world.close();
}
say(`${tool_flows.length - failed} of ${tool_flows.length} flows are as they must be`);
rmSync(folder, { recursive: true, force: true });
process.exitCode = failed === 0 ? 0 : 1;
