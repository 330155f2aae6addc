// A real identity provider signs people in: Keycloak, from Maven Central, beside a server of this
// checkout, with Chromium as the browser; a DNS server and a mail relay of the tests stand around.
// SAML, OpenID Connect, provisioning by SCIM, and what somebody with a provider of their own tries.
// Prints a line for each flow. Exit code 1: a flow did not end as it must. Wants java, mvn and
// python3, takes some three minutes and 2 GB. npm run keycloak [-- --only SAML]
import { directory_flows } from '../../test/keycloak/directory_flows.ts';
import { directory_review_flows } from '../../test/keycloak/directory_review_flows.ts';
import { leaving_flows } from '../../test/keycloak/leaving_flows.ts';
import { openid_flows } from '../../test/keycloak/openid_flows.ts';
import { refused_saml_flows } from '../../test/keycloak/refused_saml_flows.ts';
import { review_flows } from '../../test/keycloak/review_flows.ts';
import { saml_flows } from '../../test/keycloak/saml_flows.ts';
import { openWorld } from '../../test/keycloak/world.ts';
import { readOptions, refuse } from '../options.ts';
import { walkFlows } from './keycloak/walk_flows.ts';

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
await walkFlows('keycloak', openWorld, flows);
