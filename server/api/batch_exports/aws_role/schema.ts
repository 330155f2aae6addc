import type { Static } from 'typebox';
import { text, titled } from '../../../platform/http/schemas.ts';
import { nullable } from '../../../platform/nullable.ts';

/** The answer of `aws_role/`: the values for the trust policy of a role. */
export const AwsRole = titled('AwsRole', {
  external_id: text('The external id of the organization: not secret, and unique to it.'),
  principal: nullable(
    text(
      'ARN of the identity of this server; null: the operator lets no export assume a role ' +
        'without an access key.',
    ),
  ),
  trust_policy: nullable(
    text('The trust policy for a role, as JSON to paste; null without a principal.'),
  ),
});
export type AwsRole = Static<typeof AwsRole>;
