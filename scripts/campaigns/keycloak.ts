// A real identity provider signs people in: Keycloak, from Maven Central, beside a server of this
// checkout, with Chromium as the browser; a DNS server and a mail relay of the tests stand around.
// SAML, OpenID Connect, provisioning by SCIM, and what somebody with a provider of their own tries.
// Prints a line for each flow. Exit code 1: a flow did not end as it must. Wants java, mvn and
// python3, takes some three minutes and 2 GB. npm run keycloak [-- --only SAML]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { directory_flows } from '../../test/keycloak/directory_flows.ts';
import { directory_review_flows } from '../../test/keycloak/directory_review_flows.ts';
import { findKeycloak, keycloak_version, whyNoKeycloak } from '../../test/keycloak/distribution.ts';
import { leaving_flows } from '../../test/keycloak/leaving_flows.ts';
import { openid_flows } from '../../test/keycloak/openid_flows.ts';
import { refused_saml_flows } from '../../test/keycloak/refused_saml_flows.ts';
import { review_flows } from '../../test/keycloak/review_flows.ts';
import { saml_flows } from '../../test/keycloak/saml_flows.ts';
import { openWorld } from '../../test/keycloak/world.ts';
import { readOptions, refuse } from '../options.ts';

const { only } = readOptions({ only: '' });
const flows = [
  ...saml_flows,
  ...refused_saml_flows,
  ...openid_flows,
  ...directory_flows,
  ...review_flows,
  ...directory_review_flows,
  ...leaving_flows,
].filter(({ name }) => new RegExp(only, 'i').test(name));
if (flows.length === 0) refuse(`--only takes a part of a flow's name; none has ${only}.`);
const reason = await whyNoKeycloak();
if (reason !== undefined) {
  console.log(`Skipped: ${reason}`);
  process.exit(0);
}
const say = (line: string) => console.log(line);
const home = await findKeycloak(say);
const folder = mkdtempSync(join(tmpdir(), 'sluice-keycloak-'));
const began = performance.now();
const world = await openWorld(home, folder);
const seconds = () => Math.round((performance.now() - began) / 1000);
say(`Keycloak ${keycloak_version} and the server are ready after ${seconds()} s; in ${folder}`);
let failed = 0;
try {
  for (const { name, walk } of flows) {
    try {
      await walk(world);
      say(`ok  ${name}`);
    } catch (error) {
      failed += 1;
      say(`FAILED  ${name}\n${String(error instanceof Error ? error.stack : error)}`);
    }
  }
} finally {
  await world.close();
}
say(`${flows.length - failed} of ${flows.length} flows are as they must be, in ${seconds()} s`);
rmSync(folder, { recursive: true, force: true });
process.exitCode = failed === 0 ? 0 : 1;
