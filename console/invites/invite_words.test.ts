import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inviteState, unsentNote } from './invite_words.ts';

test('a server without mail says what to do instead', () => {
  const sent = { emailing_attempt_made: true };
  const unsent = { emailing_attempt_made: false, link: 'https://sluice.example/invite/1' };
  assert.equal(unsentNote([unsent]), 'No mail has gone out: hand over the link below.');
  assert.equal(unsentNote([unsent, unsent]), 'No mail has gone out: hand over the links below.');
  assert.equal(unsentNote([unsent, sent]), undefined);
  assert.match(unsentNote([{ emailing_attempt_made: false }]) ?? '', /tried again/);
});

test('an invite that is open says whether its mail has gone out', () => {
  const of = (is_expired: boolean, emailing_attempt_made: boolean) =>
    inviteState({ is_expired, emailing_attempt_made }).word;
  assert.deepEqual(
    [of(false, true), of(false, false), of(true, true)],
    ['Open', 'Open, no mail has gone out', 'Expired: send it again'],
  );
});
