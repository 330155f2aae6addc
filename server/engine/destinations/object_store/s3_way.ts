import type { S3ClientConfig } from '@aws-sdk/client-s3';
import type { Outbound } from '../../../platform/outbound/outbound.ts';
import { textOf } from './config_rules.ts';
import { request_attempts_max, request_timeout_milliseconds } from './object_store.ts';
import type { S3Place } from './s3_place.ts';

const connect_timeout_milliseconds = 10_000;

/**
 * The options that all clients of AWS share: the credentials, and the connection through the
 * outbound guard.
 */
export type Way = Pick<
  S3ClientConfig,
  'maxAttempts' | 'retryMode' | 'requestHandler' | 'credentials'
>;

/** Returns the shared options for the services of a place. Each request is tried three times. */
export function wayOf(place: S3Place, outbound: Outbound): Way {
  const accessKeyId = textOf(place.aws_access_key_id);
  const secretAccessKey = textOf(place.aws_secret_access_key);
  const { aws_session_token: sessionToken } = place;
  return {
    ...(accessKeyId === undefined || secretAccessKey === undefined
      ? {}
      : {
          credentials: {
            accessKeyId,
            secretAccessKey,
            ...(sessionToken === undefined ? {} : { sessionToken }),
          },
        }),
    maxAttempts: request_attempts_max,
    retryMode: 'standard',
    requestHandler: {
      httpAgent: outbound.agents.http,
      httpsAgent: outbound.agents.https,
      connectionTimeout: connect_timeout_milliseconds,
      requestTimeout: request_timeout_milliseconds,
      throwOnRequestTimeout: true,
    },
  };
}
