import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from './source_files.ts';
import { billOfMaterials } from '../../scripts/package/bill.ts';
import { releaseKey } from '../../scripts/package/release/key.ts';
import { envelope, provenance } from '../../scripts/package/release/provenance.ts';
import { unjudged, vexOf } from '../../scripts/package/release/vex.ts';
import type { Judgement } from '../../scripts/package/release/vex.ts';

const bill = billOfMaterials(new Date('2026-11-30T00:00:00Z'));
const known = bill.components.find(({ name }) => name === 'fastify')!;
const judgement: Judgement = {
  id: 'GHSA-aaaa-bbbb-cccc',
  package: known.name,
  versions: [known.version],
  state: 'not_affected',
  justification: 'code_not_reachable',
  detail: 'Sluice does not call it.',
};

test('a commit has one bill, whenever it is written', () => {
  assert.deepEqual(billOfMaterials(new Date('2026-11-30T00:00:00Z')), bill);
  assert.match(bill.serialNumber, /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-/);
});

test('a VEX points at the component of the bill', () => {
  const vex = vexOf(bill, [judgement], new Date(0)) as {
    vulnerabilities: { affects: { ref: string }[]; source: { url: string } }[];
  };
  const [told] = vex.vulnerabilities;
  const number = bill.serialNumber.slice('urn:uuid:'.length);
  assert.deepEqual(told!.affects, [{ ref: `urn:cdx:${number}/1#${known['bom-ref']}` }]);
  assert.equal(told!.source.url, 'https://github.com/advisories/GHSA-aaaa-bbbb-cccc');
  assert.throws(
    () => vexOf(bill, [{ ...judgement, versions: ['0.0.1'] }], new Date(0)),
    /judges fastify 0\.0\.1, which no release contains/,
  );
});

test('the judgements of the repository are about packages that a release contains', () => {
  const { judgements } = JSON.parse(readFileSync(join(root, 'docs/security/vex.json'), 'utf8')) as {
    judgements: Judgement[];
  };
  vexOf(bill, judgements, new Date(0));
});

test('an advisory without a judgement is found, once', () => {
  const via = (id: string) => ({ name: known.name, url: `https://github.com/advisories/${id}` });
  const audit = {
    vulnerabilities: {
      fastify: { via: [via(judgement.id), via('GHSA-2222-3333-4444')] },
      '@fastify/cookie': { via: ['fastify', via('GHSA-2222-3333-4444')] },
    },
  };
  assert.deepEqual(unjudged(audit, [judgement]), [
    { id: 'GHSA-2222-3333-4444', package: 'fastify' },
  ]);
});

test('the envelope is signed over its type and its statement', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const key = releaseKey(privateKey);
  const statement = provenance([{ name: 'a.tgz', sha256: 'ab'.repeat(32) }], {
    repository: 'https://sluice.example/sluice',
    release: '1.2.3',
    commit: 'cd'.repeat(20),
    lock_sha256: 'ef'.repeat(32),
    node: '24.0.0',
    npm: '11.0.0',
    started: new Date(0),
    finished: new Date(1),
  });
  const { payloadType, payload, signatures } = envelope(statement, key) as {
    payloadType: string;
    payload: string;
    signatures: [{ keyid: string; sig: string }];
  };
  const body = Buffer.from(payload, 'base64');
  assert.deepEqual(JSON.parse(body.toString()), statement);
  const signed = Buffer.from(`DSSEv1 28 ${payloadType} ${body.length} ${body.toString()}`);
  const signature = Buffer.from(signatures[0].sig, 'base64');
  assert.ok(verify('sha256', signed, publicKey, signature));
  assert.ok(!verify('sha256', body, publicKey, signature));
  const der = publicKey.export({ type: 'spki', format: 'der' });
  assert.equal(signatures[0].keyid, createHash('sha256').update(der).digest('hex'));
});

test('a key that cosign would not read is refused', () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'secp384r1' });
  assert.throws(() => releaseKey(privateKey), /one of P-256/);
});
