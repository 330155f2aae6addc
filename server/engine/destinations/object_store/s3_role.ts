import { createRequire } from 'node:module';
import type * as Sdk from '@aws-sdk/client-sts';
import type { S3ClientConfig } from '@aws-sdk/client-s3';
import { NonRetryableError } from '../../model/destination/errors.ts';
import { textOf } from './config_rules.ts';
import { isWithoutKey } from './aws_role.ts';
import type { Outbound } from '../../../platform/outbound/outbound.ts';
import { wayOf } from './s3_way.ts';
import type { Way } from './s3_way.ts';
import type { S3Place } from './s3_place.ts';

const require = createRequire(import.meta.url);

/**
 * Returns credentials of the place's role, assumed with those of `way`. The SDK requests them again
 * five minutes before they expire, so an upload may take longer than their lifetime: an hour, AWS's
 * limit for a role that assumes another one.
 */
export function roleCredentials(
  place: S3Place,
  way: Way,
): NonNullable<S3ClientConfig['credentials']> {
  const { AssumeRoleCommand } = require('@aws-sdk/client-sts') as typeof Sdk;
  const client = stsBy(place, way);
  const ExternalId = textOf(place.aws_external_id);
  const asked = new AssumeRoleCommand({
    RoleArn: place.aws_role_arn!,
    RoleSessionName: 'sluice',
    DurationSeconds: 3600,
    ...(ExternalId === undefined ? {} : { ExternalId }),
  });
  return async () => {
    const { Credentials: given } = await client.send(asked).catch((error: unknown) => {
      throw explainRefusal(error, place);
    });
    return {
      accessKeyId: given!.AccessKeyId!,
      secretAccessKey: given!.SecretAccessKey!,
      sessionToken: given!.SessionToken!,
      expiration: given!.Expiration!,
    };
  };
}

/**
 * Opens a client of the token service with the credentials of a place, through the outbound guard.
 */
export function openSts(place: S3Place, outbound: Outbound): Sdk.STSClient {
  return stsBy(place, wayOf(place, outbound));
}

function stsBy({ region, aws_roles }: S3Place, way: Way): Sdk.STSClient {
  const { STSClient } = require('@aws-sdk/client-sts') as typeof Sdk;
  const endpoint = aws_roles?.sts_endpoint_url;
  return new STSClient({
    ...(way as Sdk.STSClientConfig),
    region,
    ...(endpoint === undefined ? {} : { endpoint }),
  });
}

/**
 * Translates a refusal of the token service into an error that says what to do; other errors stay
 * unchanged.
 */
function explainRefusal(error: unknown, place: S3Place): unknown {
  const { name, message } = error as Error;
  const told = refusals[name.replace(/Exception$/, '')]?.(
    place,
    message.replaceAll(/\s+/g, ' ').trim(),
  );
  return told === undefined ? error : new NonRetryableError(told[0], told[1], { cause: error });
}

type Told = [code: string, detail: string];

// The SDK has some of these names with the suffix `Exception`.
const refusals: Record<string, ((place: S3Place, said: string) => Told) | undefined> = {
  AccessDenied: denied,
  InvalidClientTokenId: wrongKey,
  UnrecognizedClient: wrongKey,
  SignatureDoesNotMatch: wrongKey,
  ExpiredToken: expired,
  RegionDisabled: ({ region }) => [
    'wrong_region',
    `AWS STS is switched off in the region ${region} for the account of this identity. Switch it ` +
      'on in the account settings of IAM, or choose another region.',
  ],
  InvalidIdentityToken: wrongToken,
  IDPRejectedClaim: wrongToken,
  IDPCommunicationError: wrongToken,
  CredentialsProviderError: () => [
    'authentication_failed',
    'This server has no AWS credentials to assume the role with. Ask its operator to set ' +
      'AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN, or AWS_ACCESS_KEY_ID.',
  ],
  ValidationError: (_, said) => [
    'request_refused',
    `AWS STS refused the request (${said}). Check aws_role_arn and aws_external_id.`,
  ],
  ENOTFOUND: ({ region }) => [
    'host_not_found',
    `There is no AWS STS for the region ${region}. Check region.`,
  ],
};

function denied(place: S3Place): Told {
  const id = textOf(place.aws_external_id);
  const named = id === undefined ? '' : ` with the external id "${id}"`;
  const role = `the role ${place.aws_role_arn}${named}`;
  const condition = id === undefined ? '' : ` where sts:ExternalId is "${id}"`;
  const detail = isWithoutKey(place)
    ? `AWS does not let this server assume ${role}. In the trust policy of the role, allow ` +
      `sts:AssumeRole to ${place.aws_roles?.principal ?? 'it'}${condition}.`
    : `AWS does not let the access key assume ${role}. Allow sts:AssumeRole to its user, and in ` +
      `the trust policy of the role to that user${condition}.`;
  return ['permission_denied', detail];
}

function wrongKey(place: S3Place): Told {
  const detail = isWithoutKey(place)
    ? "AWS refused this server's own credentials. Its operator has to renew them."
    : 'AWS refused the access key or its secret. Check aws_access_key_id and ' +
      'aws_secret_access_key.';
  return ['authentication_failed', detail];
}

function expired(place: S3Place): Told {
  const detail = isWithoutKey(place)
    ? "This server's own AWS credentials or its web identity token have expired. Its operator " +
      'has to renew them.'
    : 'The access key has expired. Set another aws_access_key_id and aws_secret_access_key.';
  return ['authentication_failed', detail];
}

function wrongToken(_place: S3Place, said: string): Told {
  const detail =
    `AWS refused the web identity token of this server (${said}). Its operator checks ` +
    'AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN and the identity provider in IAM.';
  return ['authentication_failed', detail];
}
