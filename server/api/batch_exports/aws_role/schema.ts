import { Type } from 'typebox';
import type { Static } from 'typebox';
import { nullable } from '../../../platform/nullable.ts';

/** The answer of `aws_role/`: the values for the trust policy of a role. */
export const AwsRole = Type.Object(
  {
    external_id: Type.String({
      description: 'The external id of the organization: not secret, and unique to it.',
    }),
    principal: nullable(
      Type.String({
        description:
          'ARN of the identity of this server; null: the operator lets no export assume a role ' +
          'without an access key.',
      }),
    ),
    trust_policy: nullable(
      Type.String({
        description: 'The trust policy for a role, as JSON to paste; null without a principal.',
      }),
    ),
  },
  { title: 'AwsRole' },
);
export type AwsRole = Static<typeof AwsRole>;
