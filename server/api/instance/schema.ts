import { Type } from 'typebox';
import type { Static } from 'typebox';
import { instance_colours } from '../../platform/instance_colours.ts';
import { nullable } from '../../platform/nullable.ts';

/** Public facts about this server. */
export const Instance = Type.Object(
  {
    name: nullable(
      Type.String({ description: 'What the operator calls the server; null without a name.' }),
    ),
    colour: Type.Enum([...instance_colours], {
      description: 'The colour of the name in the console.',
    }),
    sends_mail: Type.Boolean({ description: 'Whether the server has a mail relay.' }),
    command: Type.String({
      description:
        'Prefix of commands for operators: `sluice`, or `npm run sluice --` in a checkout.',
    }),
  },
  { title: 'Instance' },
);

export type Instance = Static<typeof Instance>;
