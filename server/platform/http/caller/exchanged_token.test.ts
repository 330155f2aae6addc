import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openSecrets } from '../../secrets/secrets.ts';
import { createExchangedToken, isExchangedToken, openExchangedToken } from './exchanged_token.ts';

const secrets = openSecrets('a secret that only tests have, 32 or more');
const credential = { kind: 'service_key', hash: secrets.hash('slv_x') } as const;

test('a token stands for its key until its end, and nobody else can make one', () => {
  const token = createExchangedToken(secrets, credential, 1_000);
  assert.ok(isExchangedToken(token));
  assert.deepEqual(openExchangedToken(secrets, token, 999), credential);
  assert.equal(openExchangedToken(secrets, token, 1_000), undefined);
  const others = openSecrets('another secret that only tests have, 32');
  const forged = [
    createExchangedToken(others, credential, 1_000),
    `${token.slice(0, -2)}AA`,
    token.slice(0, 40),
    `slt_${'A'.repeat(10_000)}`,
    'slt_',
    'slk_',
  ];
  for (const one of forged) assert.equal(openExchangedToken(secrets, one, 0), undefined);
});
