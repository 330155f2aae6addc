import { randomBytes } from 'node:crypto';
import type { TxtAnswer, UnansweredReason } from '../../../platform/dns/txt_answer.ts';
import { counted } from '../../../platform/counted.ts';

/** The result of one look-up: the challenge exists, it does not, or nobody knows. */
export type CheckOutcome = 'met' | 'missing' | 'unanswered';

/** Most characters of a stranger's record that are shown. */
const excerpt_length_max = 60;

/** A new challenge: 32 random bytes as 43 characters of base64url. */
export function newChallenge(): string {
  return randomBytes(32).toString('base64url');
}

/** A name in DNS has 253 characters at most (RFC 1035, 2.3.4, as text). */
export const name_length_max = 253;

/** The name whose TXT record proves the domain. */
export function challengeName(domain: string): string {
  return `_sluice-challenge.${domain}`;
}

/**
 * True when one of the records is the challenge. Whitespace around it and one pair of double quotes
 * are passed over, because consoles of DNS providers store what was pasted; nothing else is: no
 * other case, no prefix, no part.
 */
export function isChallengeMet(records: string[], challenge: string): boolean {
  return records.some((record) => bare(record) === challenge);
}

/**
 * Judges an answer for the proof, with one or two sentences for the owner of the domain: the result
 * and the next step. Guarantee: never throws, and shows at most 60 characters of a foreign record,
 * without control and formatting characters.
 */
export function judgeAnswer(
  domain: string,
  challenge: string,
  answer: TxtAnswer,
): { outcome: CheckOutcome; reason: string } {
  const name = challengeName(domain);
  const impossible = refuseProof(domain);
  if (impossible !== undefined) return { outcome: 'missing', reason: impossible };
  switch (answer.outcome) {
    case 'found':
      return isChallengeMet(answer.records, challenge)
        ? { outcome: 'met', reason: `The TXT record at ${name} has the challenge.` }
        : { outcome: 'missing', reason: otherValue(name, answer.records, challenge) };
    case 'no_records':
      return {
        outcome: 'missing',
        reason:
          `The name ${name} has no TXT record. Add one whose value is the challenge; a new ` +
          'record can take as long as its TTL to be seen.',
      };
    case 'no_such_name':
      return {
        outcome: 'missing',
        reason:
          `The name ${name} does not exist. Add a TXT record with this name; many DNS consoles ` +
          'append the domain themselves, so check that it is not there twice.',
      };
    case 'unanswered':
      return { outcome: 'unanswered', reason: unanswered(name, answer.reason) };
  }
}

/** Why a domain can never be proved; undefined when it can. */
export function refuseProof(domain: string): string | undefined {
  const name = challengeName(domain);
  return name.length <= name_length_max
    ? undefined
    : `The name ${name} has ${name.length} characters, and DNS allows ${name_length_max}. This ` +
        'domain cannot be proved.';
}

function bare(record: string): string {
  const trimmed = record.trim();
  return trimmed.length >= 2 && trimmed.startsWith('"') && trimmed.endsWith('"')
    ? trimmed.slice(1, -1).trim()
    : trimmed;
}

function otherValue(name: string, records: string[], challenge: string): string {
  if (records.some((record) => record.includes(challenge)))
    return (
      `The TXT record at ${name} has more in it than the challenge. Set it to the challenge ` +
      'alone.'
    );
  const shown = records.map(excerpt).find((text) => text !== '');
  const begin =
    shown === undefined ? '' : `; ${records.length === 1 ? 'it' : 'one'} begins with “${shown}”`;
  if (records.length > 1)
    return (
      `None of the ${counted(records.length, 'TXT record')} at ${name} is the ` +
      `challenge${begin}. Add one ` +
      'whose value is the challenge.'
    );
  if (shown === undefined) return `The TXT record at ${name} is empty. Set it to the challenge.`;
  return (
    `The TXT record at ${name} has another value than the challenge${begin}. Set it to the ` +
    'challenge.'
  );
}

function excerpt(record: string): string {
  // Enough code units to fill an excerpt and to see that there is more; the expression is kept away
  // from a record of 64 KiB.
  const readable = [
    ...record
      .slice(0, excerpt_length_max * 4)
      .replaceAll(/[\p{C}\p{Z}\uFFFD]+/gu, ' ')
      .trim(),
  ];
  return readable.length <= excerpt_length_max
    ? readable.join('')
    : `${readable.slice(0, excerpt_length_max - 1).join('')}…`;
}

function unanswered(name: string, reason: UnansweredReason): string {
  switch (reason) {
    case 'servfail':
      return (
        `The name servers of ${name} cannot be asked (SERVFAIL). Check that they answer and ` +
        'that DNSSEC is valid.'
      );
    case 'refused':
      return (
        `The DNS server refuses to look up ${name}. Try again later, or ask the operator of ` +
        'this server which DNS servers it uses.'
      );
    case 'malformed':
      return `The DNS answer for ${name} cannot be read. Check the name servers of the domain.`;
    case 'alias_loop':
      return (
        `The aliases (CNAME) from ${name} go in a circle or are more than 8. Let the name have ` +
        'the TXT record itself.'
      );
    case 'timeout':
      return (
        `There was no DNS answer for ${name} in time. Check that the name servers of the domain ` +
        'answer.'
      );
    case 'unreachable':
      return (
        `This server reaches no DNS server, so ${name} could not be looked up. Tell its ` +
        'operator.'
      );
  }
}
