import type { FastifyInstance } from 'fastify';
import type { Engine } from '../../../engine/exports/engine.ts';
import { externalIdOf } from '../../../engine/destinations/object_store/aws_role.ts';
import { AwsRole } from './schema.ts';
import { addRoute } from '../../../platform/http/records.ts';

/** Route `aws_role/`: the values that an organization's trust policy in AWS needs. */
export function awsRoleRoute(app: FastifyInstance, { aws_roles: { principal } }: Engine): void {
  addRoute(app, {
    url: '/api/organizations/:organization_id/aws_role/',
    config: { scope: 'batch_export:read', within: 'organization' },
    summary: 'Retrieve the values for the trust policy of an AWS role',
    description:
      'With it an export to S3 or Redshift needs no access key: it names the role as ' +
      '`aws_role_arn`, and `external_id` as `aws_external_id`.',
    response: { 200: AwsRole },
    handler: ({ access: { organization_id } }): AwsRole => {
      const external_id = externalIdOf(organization_id);
      if (principal === undefined) return { external_id, principal: null, trust_policy: null };
      return { external_id, principal, trust_policy: trustPolicy(principal, external_id) };
    },
  });
}

function trustPolicy(principal: string, external_id: string): string {
  const statement = {
    Effect: 'Allow',
    Principal: { AWS: principal },
    Action: 'sts:AssumeRole',
    Condition: { StringEquals: { 'sts:ExternalId': external_id } },
  };
  return JSON.stringify({ Version: '2012-10-17', Statement: [statement] }, null, 2);
}
