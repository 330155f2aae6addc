import type {
  ConfigViolation,
  DestinationDeps,
  OperatorRules,
} from '../../model/destination/destination.ts';
import { optionalText } from '../../model/destination/config_keys.ts';
import { NonRetryableError } from '../../model/destination/errors.ts';
import { violation } from '../../model/destination/violation.ts';
import { textOf } from './config_rules.ts';
import type { S3Place } from './s3_place.ts';

/** The keys of a config for a role to assume, for a schema. */
export const role_keys = {
  aws_role_arn: optionalText(
    2048,
    'The ARN of a role that Sluice assumes with the access key. Without a key, Sluice assumes it ' +
      'as the server, if the operator allows it.',
  ),
  aws_external_id: optionalText(
    1224,
    'The external ID in the trust policy of the role. Without an access key, it must be the one ' +
      'of the organization (`GET .../aws_role/`).',
  ),
};

type RoleConfig = Pick<
  S3Place,
  'aws_access_key_id' | 'aws_secret_access_key' | 'aws_role_arn' | 'aws_external_id'
>;

/**
 * Returns the external id of an organization. A role that trusts this server requires it to
 * restrict access to one organization: another one has another id, and cannot choose it. It is no
 * secret.
 */
export function externalIdOf(organization_id: string): string {
  return `sluice-${organization_id}`;
}

/**
 * Returns true if the config has no credentials and relies on those of the server's environment.
 */
export function isWithoutKey(config: RoleConfig): boolean {
  return (
    textOf(config.aws_access_key_id) === undefined &&
    textOf(config.aws_secret_access_key) === undefined
  );
}

/** Returns true if the role is assumed with the server's identity. */
export function isServersRole(config: RoleConfig): boolean {
  return textOf(config.aws_role_arn) !== undefined && isWithoutKey(config);
}

const no_roles =
  'Give an access key: the operator does not let exports assume roles as this server ' +
  '(SLUICE_AWS_PRINCIPAL).';

const role_arn = /^arn:aws[a-z-]*:iam::[0-9]{12}:role\/[\w+=,.@/-]+$/;

/** Checks the keys of a role. */
export function roleViolations(config: RoleConfig, rules: OperatorRules): ConfigViolation[] {
  const role = textOf(config.aws_role_arn);
  const external_id = textOf(config.aws_external_id);
  if (role === undefined)
    return external_id === undefined
      ? []
      : [violation('aws_external_id', 'An external id needs an aws_role_arn.')];
  const found: ConfigViolation[] = [];
  if (!role_arn.test(role))
    found.push(
      violation(
        'aws_role_arn',
        'It must be the ARN of a role, such as arn:aws:iam::123456789012:role/name.',
      ),
    );
  if (external_id !== undefined && !/^[\w+=,.@:/-]{2,1224}$/.test(external_id))
    found.push(violation('aws_external_id', 'AWS takes letters, digits and the signs _+=,.@:/-.'));
  else if (isWithoutKey(config)) found.push(...serversRoleViolations(external_id, rules));
  return found;
}

function serversRoleViolations(
  external_id: string | undefined,
  { aws_roles, aws_external_id: own }: OperatorRules,
): ConfigViolation[] {
  if (aws_roles?.principal === undefined) return [violation('aws_role_arn', no_roles, 'required')];
  if (own !== undefined && external_id === own) return [];
  return [
    violation(
      'aws_external_id',
      `Send ${JSON.stringify(own)}, the external id of this organization, and ask for it in the ` +
        `trust policy of the role: it allows sts:AssumeRole to ${aws_roles.principal} where ` +
        'sts:ExternalId is that.',
      external_id === undefined ? 'required' : 'invalid_input',
    ),
  ];
}

/**
 * Returns the bucket of a config as this server opens it. Throws if the operator has changed the
 * setting since the config was checked.
 */
export function placeOf<Place extends S3Place>(
  place: Place,
  { aws_roles }: Pick<DestinationDeps, 'aws_roles'>,
): Place & Pick<S3Place, 'aws_roles'> {
  if (isServersRole(place) && aws_roles?.principal === undefined)
    throw new NonRetryableError('authentication_failed', no_roles);
  return { ...place, aws_roles };
}
