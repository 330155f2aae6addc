import { randomBytes } from 'node:crypto';
import type { TxtAnswer, UnansweredReason } from '../../../platform/dns/txt_answer.ts';
import { counted } from '../../../platform/counted.ts';

/** The result of a check: the challenge exists, it does not, or the answer is unknown. */
export type CheckOutcome = 'met' | 'missing' | 'unanswered';

/** Most characters of a foreign record that are shown. */
const excerpt_length_max = 60;

/** Returns a new challenge: 32 random bytes as 43 characters of base64url. */
export function newChallenge(): string {
  return randomBytes(32).toString('base64url');
}

/** A name in DNS has at most 253 characters (RFC 1035, 2.3.4, as text). */
export const name_length_max = 253;

/** Returns the name whose TXT record proves the domain. */
export function challengeName(domain: string): string {
  return `_sluice-challenge.${domain}`;
}

/**
 * Returns true if one of the records is the challenge. Ignores whitespace around it and one pair of
 * double quotes, because consoles of DNS providers store pasted text. Otherwise the text must match
 * exactly.
 */
export function isChallengeMet(records: string[], challenge: string): boolean {
  return records.some((record) => bare(record) === challenge);
}

/**
 * Judges an answer, with one or two sentences for the owner of the domain: the result and the next
 * step. Guarantee: never throws, and shows at most 60 characters of a foreign record, without
 * control and formatting characters.
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

/** Returns why a domain can never be proved; undefined if it can. */
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
      `The TXT record at ${name} contains more than the challenge. ` +
      'Set it to the challenge alone.'
    );
  const shown = records.map(excerpt).find((text) => text !== '');
  const begin =
    shown === undefined ? '' : `; ${records.length === 1 ? 'it' : 'one'} begins with “${shown}”`;
  if (records.length > 1)
    return (
      `${counted(records.length, 'TXT record')} exist at ${name}, but none is the challenge` +
      `${begin}. Add a record whose value is the challenge.`
    );
  if (shown === undefined) return `The TXT record at ${name} is empty. Set it to the challenge.`;
  return (
    `The TXT record at ${name} has another value than the challenge${begin}. Set it to the ` +
    'challenge.'
  );
}

function excerpt(record: string): string {
  // Enough code units for an excerpt and one more character; the pattern must not run over a record
  // of 64 KiB.
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
        `The name servers of ${name} do not answer (SERVFAIL). Check that they are reachable ` +
        'and that DNSSEC is valid.'
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
        `The aliases (CNAME) from ${name} form a cycle or are more than 8. Give the name the ` +
        'TXT record itself.'
      );
    case 'timeout':
      return (
        `There was no DNS answer for ${name} in time. Check that the name servers of the domain ` +
        'answer.'
      );
    case 'unreachable':
      return (
        `This server cannot reach a DNS server, so ${name} could not be checked. ` +
        'Tell its operator.'
      );
  }
}
