import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inviteState, unsentNote } from './invite_words.ts';

test('a server without mail says what to do instead', () => {
  const sent = { emailing_attempt_made: true };
  const unsent = { emailing_attempt_made: false, link: 'https://sluice.example/invite/1' };
  assert.equal(unsentNote([unsent]), 'No mail was sent. Give people the link below.');
  assert.equal(unsentNote([unsent, unsent]), 'No mail was sent. Give people the links below.');
  assert.equal(unsentNote([unsent, sent]), undefined);
  assert.match(unsentNote([{ emailing_attempt_made: false }]) ?? '', /retries for a day/);
});

test('an invite that is open says whether its mail has gone out', () => {
  const of = (is_expired: boolean, emailing_attempt_made: boolean) =>
    inviteState({ is_expired, emailing_attempt_made }).word;
  assert.deepEqual(
    [of(false, true), of(false, false), of(true, true)],
    ['Open', 'Open, no mail was sent', 'Expired: send it again'],
  );
});
