// Tools and a real OAuth server: Keycloak, from Maven Central, is the vendor of a tool. A person
// connects the tool in Chromium; a receiver asks Keycloak about the token of each event. Refresh
// tokens are good once. Two processes refresh at once, and a worker is killed between the answer of
// Keycloak and its storing. Prints a line for each flow. Exit code 1: a flow did not end as it
// must. Wants java and mvn, and the package of tools. npm run tool_oauth
import { tool_flows } from '../../test/keycloak/tool_oauth/flows.ts';
import { openToolWorld } from '../../test/keycloak/tool_oauth/world.ts';
import { readOptions } from '../options.ts';
import { walkFlows } from './keycloak/walk_flows.ts';

readOptions({});
await walkFlows(
  'tool-oauth',
  openToolWorld,
  tool_flows,
  ({ receiver: { refused, taken } }) =>
    `${taken.length} events came with an active token, ${refused} with another one`,
);
