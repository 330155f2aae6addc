import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ShownAnswer } from './answers.ts';
import type { DnsBehaviour, DnsRecord } from '../../../../test/servers/dns_server.ts';
import { aroundTests } from '../../../../test/around_tests.ts';
import {
  openDomainWorld,
  proofNameOf,
  proofOf,
} from '../../../../test/factories/people/domains.ts';

const several = aroundTests(() => openDomainWorld({ resolvers: 3 }));

const txt = (...strings: (string | Buffer)[]): DnsRecord => ({ type: 'TXT', strings });

const verifies = /has the challenge/;

const disagreeing: [string, (DnsBehaviour | 'proof')[], string, RegExp][] = [
  [
    'one has it, two do not know the name',
    [{ rcode: 'NXDOMAIN' }, { rcode: 'NXDOMAIN' }, 'proof'],
    'verified',
    verifies,
  ],
  [
    'one has it, one has an old value, one is dead',
    [{ records: [txt('old')] }, { silent: 'always' }, 'proof'],
    'verified',
    verifies,
  ],
  [
    'two fail, one has it',
    [{ rcode: 'SERVFAIL' }, { rcode: 'REFUSED' }, 'proof'],
    'verified',
    verifies,
  ],
  [
    'one knows the name, one does not, one is dead',
    [{}, { rcode: 'NXDOMAIN' }, { silent: 'always' }],
    'pending',
    /has no TXT record/,
  ],
  [
    'one answers, two fail',
    [{ rcode: 'SERVFAIL' }, { rcode: 'NXDOMAIN' }, { rcode: 'SERVFAIL' }],
    'pending',
    /does not exist/,
  ],
  [
    'all fail in their own way',
    [{ rcode: 'SERVFAIL' }, { silent: 'always' }, { rcode: 'REFUSED' }],
    'pending',
    /SERVFAIL/,
  ],
];

const outcomeOf = (behaviour: DnsBehaviour | 'proof') =>
  behaviour === 'proof'
    ? 'met'
    : behaviour.silent !== undefined || ['SERVFAIL', 'REFUSED'].includes(behaviour.rcode ?? '')
      ? 'unanswered'
      : 'missing';

for (const [title, behaviours, state, reason] of disagreeing) {
  test(`three resolvers: ${title}`, async () => {
    const home = await several.harness.newOrganization();
    const domain = await several.claim(home);
    behaviours.forEach((behaviour, index) =>
      several.resolvers[index]!.set(
        proofNameOf(domain),
        behaviour === 'proof' ? { records: [proofOf(domain)] } : behaviour,
      ),
    );
    const { verification } = await several.verify(home, domain);
    assert.equal(verification.state, state);
    assert.match(verification.reason, reason);
    assert.deepEqual(
      verification.answers.map((answer: ShownAnswer) => [answer.resolver, answer.outcome]),
      behaviours.map((behaviour, index) => [
        `resolver ${index + 1} of the server`,
        outcomeOf(behaviour),
      ]),
    );
  });
}
