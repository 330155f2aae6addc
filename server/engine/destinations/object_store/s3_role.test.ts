import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { destinationDeps } from '../../../../test/destinations/destination_deps.ts';
import { openS3Server } from '../../../../test/servers/object_stores/s3_server.ts';
import type { S3Server } from '../../../../test/servers/object_stores/s3_server.ts';
import { withVariables } from '../../../../test/with_variables.ts';
import { listenLocally } from '../../../../test/servers/loopback.ts';
import { KnownError } from '../../model/destination/errors.ts';
import { openOutbound } from '../../../platform/outbound/outbound.ts';
import { openBucket } from './s3_bucket.ts';
import type { S3Place } from './s3_place.ts';

const principal = 'arn:aws:iam::111122223333:user/sluice';
const aws_role_arn = 'arn:aws:iam::123456789012:role/exports';
const deps = destinationDeps();

/** The requests to the token service, and its next answer: seconds to live, or a refusal. */
const asked: URLSearchParams[] = [];
let answer: { lives_seconds: number } | { code: string; message: string };

let store: S3Server;
let token_service: { port: number; close(): Promise<void> };

/** A stand-in for AWS STS: whoever assumes a role gets the keys of the store. */
async function respond(request: IncomingMessage): Promise<[number, string]> {
  asked.push(new URLSearchParams((await buffer(request)).toString()));
  const action = asked.at(-1)!.get('Action');
  if ('code' in answer)
    return [
      403,
      `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type>
        <Code>${answer.code}</Code><Message>${answer.message}</Message></Error></ErrorResponse>`,
    ];
  const expires_at = new Date(Date.now() + answer.lives_seconds * 1000).toISOString();
  return [
    200,
    `<${action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><${action}Result>
      <Credentials><AccessKeyId>${store.access_key}</AccessKeyId>
        <SecretAccessKey>${store.secret_key}</SecretAccessKey>
        <SessionToken>session</SessionToken><Expiration>${expires_at}</Expiration></Credentials>
      </${action}Result></${action}Response>`,
  ];
}

before(async () => {
  store = await openS3Server(['bucket']);
  const server = createServer((request, response) => {
    void respond(request).then(([status, text]) =>
      response.writeHead(status, { 'content-type': 'text/xml' }).end(text),
    );
  });
  token_service = await listenLocally(server);
});
after(async () => {
  await deps.outbound.close();
  await token_service.close();
  await store.close();
});

const bucketWith = (place: Partial<S3Place>) =>
  openBucket(
    {
      bucket_name: 'bucket',
      region: 'eu-central-1',
      endpoint_url: store.endpoint,
      aws_role_arn,
      aws_roles: { principal, sts_endpoint_url: `http://127.0.0.1:${token_service.port}` },
      ...place,
    },
    deps.outbound,
    deps.signal,
  );

const own_key = { aws_access_key_id: 'AKIAPLANTED', aws_secret_access_key: 'pl4nted-word' };

test('a role is assumed with the key and the external id, once while it lasts', async () => {
  answer = { lives_seconds: 3600 };
  asked.length = 0;
  const bucket = bucketWith({ ...own_key, aws_external_id: 'ours' });
  await bucket.put('one', 'a');
  await bucket.put('two', 'b');
  assert.deepEqual(
    asked.map((one) => [one.get('Action'), one.get('RoleArn'), one.get('ExternalId')]),
    [['AssumeRole', aws_role_arn, 'ours']],
  );
  await bucketWith(own_key).find();
  assert.equal(asked.at(-1)!.has('ExternalId'), false);
});

test('credentials that are about to end are asked for again between two requests', async () => {
  answer = { lives_seconds: 60 };
  asked.length = 0;
  const bucket = bucketWith(own_key);
  await bucket.put('long', 'a');
  const first = asked.length;
  answer = { lives_seconds: 3600 };
  await bucket.put('long', 'b');
  await bucket.put('long', 'c');
  assert.ok(first >= 1);
  assert.equal(asked.at(-1)!.get('Action'), 'AssumeRole');
  assert.ok(asked.length > first, 'a minute before the end they are not used on');
  const enough = asked.length;
  await bucket.put('long', 'd');
  assert.equal(asked.length, enough);
});

test('a server with a web identity assumes its own role, and with that the other', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-token-'));
  const file = join(folder, 'token');
  writeFileSync(file, 'a.web.token');
  answer = { lives_seconds: 3600 };
  asked.length = 0;
  try {
    await withVariables(
      {
        AWS_WEB_IDENTITY_TOKEN_FILE: file,
        AWS_ROLE_ARN: 'arn:aws:iam::111122223333:role/sluice',
        AWS_ENDPOINT_URL_STS: `http://127.0.0.1:${token_service.port}`,
      },
      () => bucketWith({ aws_external_id: 'sluice-organization' }).put('web', 'a'),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
  assert.deepEqual(
    asked.map((one) => [
      one.get('Action'),
      one.get('RoleArn'),
      one.get('WebIdentityToken') ?? one.get('ExternalId'),
    ]),
    [
      ['AssumeRoleWithWebIdentity', 'arn:aws:iam::111122223333:role/sluice', 'a.web.token'],
      ['AssumeRole', aws_role_arn, 'sluice-organization'],
    ],
  );
});

const said = [
  ['AccessDenied', own_key, 'permission_denied', /the access key assume the role arn:.*"ours"/],
  [
    'AccessDenied',
    {},
    'permission_denied',
    /this server assume .* to arn:aws:iam::111122223333:user\/sluice where .* is "ours"/,
  ],
  ['InvalidClientTokenId', own_key, 'authentication_failed', /Check aws_access_key_id/],
  ['InvalidClientTokenId', {}, 'authentication_failed', /operator has to renew/],
  ['ExpiredTokenException', {}, 'authentication_failed', /have expired/],
  ['InvalidIdentityToken', {}, 'authentication_failed', /AWS_WEB_IDENTITY_TOKEN_FILE/],
  ['RegionDisabledException', own_key, 'wrong_region', /switched off in the region eu-central-1/],
  ['ValidationError', own_key, 'request_refused', /refused the request \(Some words\)/],
] as const;
for (const [code, keys, wanted, sentence] of said)
  test(`${code} says what to do: ${Object.keys(keys).join(', ')}`, async () => {
    answer = { code, message: 'Some words' };
    const bucket = bucketWith({ ...keys, aws_external_id: 'ours' });
    const variables = { AWS_ACCESS_KEY_ID: 'AKIASERVER', AWS_SECRET_ACCESS_KEY: 's' };
    const error = await withVariables(variables, () => bucket.find()).then(
      () => assert.fail('It was let in.'),
      (fault: unknown) => bucket.faults.explain(fault),
    );
    assert.ok(error instanceof KnownError, String(error));
    assert.equal(error.code, wanted);
    assert.match(error.message, sentence);
    assert.doesNotMatch(error.message, /pl4nted|AKIA/);
  });

test('a token service at a private address is asked where the operator allows it', async () => {
  const guarded = destinationDeps(openOutbound({ allow: [] }));
  const bucket = openBucket(
    {
      bucket_name: 'bucket',
      region: 'eu-central-1',
      ...own_key,
      aws_role_arn,
      aws_roles: { principal, sts_endpoint_url: 'http://169.254.169.254' },
    },
    guarded.outbound,
    guarded.signal,
  );
  const error = await bucket.find().then(
    () => assert.fail('It was let in.'),
    (fault: unknown) => bucket.faults.explain(fault),
  );
  await guarded.outbound.close();
  assert.ok(error instanceof KnownError && /address/.test(error.message), String(error));
});
