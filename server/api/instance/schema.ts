import { Type } from 'typebox';
import type { Static } from 'typebox';
import { flag, text, titled } from '../../platform/http/schemas.ts';
import { instance_colours } from '../../platform/instance_colours.ts';
import { nullable } from '../../platform/nullable.ts';

/** Public facts about this server. */
export const Instance = titled('Instance', {
  name: nullable(text('What the operator calls the server; null without a name.')),
  colour: Type.Enum([...instance_colours], {
    description: 'The colour of the name in the console.',
  }),
  sends_mail: flag('Whether the server has a mail relay.'),
  command: text(
    'Prefix of commands for operators: `sluice`, or `npm run sluice --` in a checkout.',
  ),
});

export type Instance = Static<typeof Instance>;
