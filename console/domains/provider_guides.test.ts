import assert from 'node:assert/strict';
import { test } from 'node:test';
import { entityIdHint, guidesOf } from './provider_guides.ts';

test('each provider gets the address for responses, or the metadata that has it', () => {
  const own = { metadata: 'M', entity_id: 'E', acs_url: 'A' };
  for (const { name, steps } of guidesOf(own)) {
    const copied = steps.flatMap(({ copy }) => (copy === undefined ? [] : [copy.text]));
    assert.ok(copied.includes('M') || (copied.includes('A') && copied.includes('E')), name);
    assert.match(JSON.stringify(steps), /[Mm]etadata/, name);
  }
});

test('an entity id that is no URL gets a hint', () => {
  for (const text of ['not a url', 'acme', 'https://'])
    assert.match(entityIdHint(text) ?? '', /^Most providers have a URL/, text);
  for (const text of [
    '',
    'https://idp.acme.test/metadata',
    'urn:acme:idp',
    'http://www.okta.com/1',
  ])
    assert.equal(entityIdHint(text), undefined, text);
});
