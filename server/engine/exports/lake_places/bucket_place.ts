import { createRequire } from 'node:module';
import type * as Sts from '@aws-sdk/client-sts';
import { openBucket } from '../../destinations/object_store/s3_bucket.ts';
import { textOf } from '../../destinations/object_store/config_rules.ts';
import { openSts } from '../../destinations/object_store/s3_role.ts';
import type { S3Place } from '../../destinations/object_store/s3_place.ts';
import { LakeRefused } from '../../model/lake_catalog/refusal.ts';
import type { Engine } from '../engine.ts';
import type { Grant, LakePlace, Rights } from './lake_place.ts';
import { signedHeaders } from './sign_request.ts';

const require = createRequire(import.meta.url);
/** The longest session of a role that another role assumed. */
const lives_seconds = 3_600;
const time_limit_ms = 60_000;

/**
 * A bucket of S3. AWS STS issues credentials for clients under a policy for the table's prefix.
 * Without them, the server signs each request of a client.
 */
export function bucketPlace(
  place: S3Place & { prefix?: string },
  team_id: number,
  { outbound, log, clock }: Pick<Engine, 'outbound' | 'log' | 'clock'>,
): LakePlace {
  const scheme = `s3://${place.bucket_name}/`;
  const folder = constantPart(place.prefix ?? '');
  const keyOf = (uri: string) => {
    if (!uri.startsWith(scheme) || uri.split('/').includes('..'))
      throw new LakeRefused('ForbiddenException', `${uri} lies outside of ${scheme}.`);
    return uri.slice(scheme.length);
  };
  const bucket = () => openBucket(place, outbound, AbortSignal.timeout(time_limit_ms));
  const endpoint = textOf(place.endpoint_url);
  const config = {
    's3.region': place.region,
    'client.region': place.region,
    ...(endpoint === undefined
      ? {}
      : {
          's3.endpoint': endpoint,
          's3.path-style-access': String(place.use_virtual_style_addressing !== true),
        }),
  };
  return {
    // Projects may share a bucket, and credentials reach everything below a location.
    root: `${scheme}${folder}lake/${team_id}`,
    config,
    writeFile: (uri, text) => bucket().put(keyOf(uri), text),
    prepare: async () => undefined,
    readFile: async (uri) => {
      const stream = await bucket().read(keyOf(uri));
      return stream && Buffer.concat(await stream.toArray());
    },
    removeAll: async (location) => {
      const opened = bucket();
      for await (const key of opened.list(`${keyOf(location)}/`, { direct: false }))
        await opened.remove(key);
    },
    grant: async (location, rights) => {
      const key = keyOf(location);
      const given = await vend(place, { outbound, log }, key, rights);
      return given && { prefix: `${scheme}${key}`, config: { ...config, ...given } };
    },
    ...(textOf(place.aws_access_key_id) === undefined || textOf(place.aws_role_arn) !== undefined
      ? {}
      : {
          sign: (location, rights, asked) =>
            signedHeaders(place, { key: keyOf(location), rights }, asked, new Date(clock.now())),
        }),
  };
}

/** Returns the folders of a prefix before its first variable, with a trailing slash. */
export function constantPart(prefix: string): string {
  const constant = prefix.split('{')[0]!;
  return constant.slice(0, constant.lastIndexOf('/') + 1);
}

/**
 * Asks AWS STS for credentials that only reach the table, as the destination's role or user.
 * Undefined if another store than AWS has the bucket, or if STS refuses.
 */
async function vend(
  place: S3Place,
  { outbound, log }: Pick<Engine, 'outbound' | 'log'>,
  key: string,
  rights: Rights,
): Promise<Grant['config'] | undefined> {
  const role = textOf(place.aws_role_arn);
  if (role === undefined && textOf(place.endpoint_url) !== undefined) return undefined;
  // In a policy, these signs are wildcards or variables.
  if (/[*?$]/.test(key)) return undefined;
  const { AssumeRoleCommand, GetFederationTokenCommand } =
    require('@aws-sdk/client-sts') as typeof Sts;
  const Policy = JSON.stringify(policyOf(place.bucket_name, key, rights));
  const ExternalId = textOf(place.aws_external_id);
  const sts = openSts(place, outbound);
  try {
    const { Credentials: given } =
      role === undefined
        ? await sts.send(
            new GetFederationTokenCommand({
              Name: 'sluice-lake',
              Policy,
              DurationSeconds: lives_seconds,
            }),
          )
        : await sts.send(
            new AssumeRoleCommand({
              RoleArn: role,
              RoleSessionName: 'sluice-lake',
              Policy,
              DurationSeconds: lives_seconds,
              ...(ExternalId === undefined ? {} : { ExternalId }),
            }),
          );
    return {
      's3.access-key-id': given!.AccessKeyId!,
      's3.secret-access-key': given!.SecretAccessKey!,
      's3.session-token': given!.SessionToken!,
      's3.session-token-expires-at-ms': String(given!.Expiration!.getTime()),
    };
  } catch (error) {
    log.warn({ err: error }, 'AWS STS gave no keys for a table of the lake');
    return undefined;
  } finally {
    sts.destroy();
  }
}

/** Returns the inline policy of vended credentials: the objects of the table, and their names. */
function policyOf(bucket: string, key: string, rights: Rights) {
  const reading = ['s3:GetObject'];
  const writing = [...reading, 's3:PutObject', 's3:DeleteObject', 's3:AbortMultipartUpload'];
  return {
    Version: '2012-10-17',
    Statement: [
      {
        Effect: 'Allow',
        Action: rights === 'write' ? writing : reading,
        Resource: `arn:aws:s3:::${bucket}/${key}/*`,
      },
      {
        Effect: 'Allow',
        Action: 's3:ListBucket',
        Resource: `arn:aws:s3:::${bucket}`,
        Condition: { StringLike: { 's3:prefix': [`${key}/*`] } },
      },
      { Effect: 'Allow', Action: 's3:GetBucketLocation', Resource: `arn:aws:s3:::${bucket}` },
    ],
  };
}
