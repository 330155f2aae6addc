import { Type } from 'typebox';
import { ask, entriesOf, pick } from '../api_call.ts';
import { defineTool, organization, organizationPath } from '../tool.ts';

/** Applies a plan as a whole, by its hash: the only tool that changes anything. */
export const apply_configuration = defineTool({
  name: 'apply_configuration',
  title: 'Apply a plan',
  description:
    'Applies a plan of plan_configuration by its hash, completely or not. 409 if something ' +
    'has changed since. Show the plan to the person first and ask them.',
  input: Type.Object({
    organization,
    hash: Type.String({ minLength: 1, maxLength: 200, description: 'hash of the plan.' }),
  }),
  scopes: ['organization:write'],
  challenge: ['organization:write', 'project:write', 'batch_export:write', 'plugin:write'],
  within: 'organization',
  writes: true,
  run: async (args, { api }) => {
    const applied = await ask(api, {
      method: 'POST',
      path: `${organizationPath(args.organization)}configuration/apply/`,
      body: { hash: args.hash },
    });
    return {
      ...pick(applied, ['hash', 'applied_at', 'summary']),
      objects: entriesOf(applied, 'objects'),
      // Secrets that the server created: a person who needs one enters their own in the console.
      secrets_not_shown: entriesOf(applied, 'shown_once').map(({ path }) => ({ path })),
    };
  },
});
