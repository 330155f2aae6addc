import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import type * as Sdk from '@aws-sdk/client-s3';
import type { Outbound } from '../../../platform/outbound/outbound.ts';
import { textOf } from './config_rules.ts';
import type { S3Place } from './s3_place.ts';
import { roleCredentials } from './s3_role.ts';
import { wayOf } from './s3_way.ts';

const require = createRequire(import.meta.url);

/** Returns the package, loaded when the first bucket is opened, because it is large. */
export function sdk(): typeof Sdk {
  return require('@aws-sdk/client-s3') as typeof Sdk;
}

/** Opens a client that uses the outbound guard. Each request is tried three times. */
export function openClient(place: S3Place, outbound: Outbound): Sdk.S3Client {
  const endpoint = textOf(place.endpoint_url);
  const way = wayOf(place, outbound);
  return new (sdk().S3Client)({
    ...way,
    region: place.region,
    ...(textOf(place.aws_role_arn) === undefined
      ? {}
      : { credentials: roleCredentials(place, way) }),
    ...(endpoint === undefined
      ? {}
      : { endpoint, forcePathStyle: place.use_virtual_style_addressing !== true }),
    // Stores other than AWS do not support the newer checksums of the SDK.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
}

type Encryption = { ServerSideEncryption?: 'AES256' | 'aws:kms'; SSEKMSKeyId?: string };

/** Returns the encryption fields of a request that creates an object. */
export function encryptionOf(place: S3Place): Encryption {
  if (place.encryption === undefined || place.encryption === null) return {};
  const key = textOf(place.kms_key_id);
  return {
    ServerSideEncryption: place.encryption,
    ...(key === undefined ? {} : { SSEKMSKeyId: key }),
  };
}

/**
 * Returns a sender for the bytes of one bucket by `send`, which gets the header. It adds their MD5
 * once the bucket has requested one, as every bucket with Object Lock does. Elsewhere the digest
 * that the SDK signs is enough, and an MD5 takes several times as long.
 */
export function digestSender() {
  let isAskedFor = false;
  return async <Result>(
    bytes: Buffer | string,
    send: (digest: { ContentMD5?: string }) => Promise<Result>,
  ): Promise<Result> => {
    const sendDigested = () =>
      send({ ContentMD5: createHash('md5').update(bytes).digest('base64') });
    if (isAskedFor) return sendDigested();
    try {
      return await send({});
    } catch (error) {
      if (!asksForDigest(error as Error)) throw error;
      isAskedFor = true;
      return await sendDigested();
    }
  };
}

/** AWS only says so in its message; others have a code for it. */
function asksForDigest({ name, message }: Error): boolean {
  return (
    name === 'MissingContentMD5' || (name === 'InvalidRequest' && /Content-MD5/i.test(message))
  );
}
