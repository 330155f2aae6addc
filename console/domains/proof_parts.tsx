import type { DomainRow } from '../../server/api/domains/schema.ts';
import { Command } from '../page/command.tsx';
import { Rows } from '../page/tables/rows.tsx';
import { Instant } from '../time/instant.tsx';
import { useNow } from '../time/now.ts';
import { dueIn } from '../time/words.ts';
import { proof_states } from './domains.ts';

/** The TXT record that proves a domain, with copy buttons. */
export function RecordToAdd({
  domain,
  verification_challenge,
}: Pick<DomainRow, 'domain' | 'verification_challenge'>) {
  return (
    <>
      <p>A record of type TXT, under this name:</p>
      <Command text={`_sluice-challenge.${domain}`} what="the name of the record" />
      <p>with this value:</p>
      <Command text={verification_challenge} what="the value of the record" />
      <p className="muted">Keep the record: the server checks it again.</p>
    </>
  );
}

/** The state of the proof, its reason, and the answer of each resolver. */
export function ProofState({ verification }: Pick<DomainRow, 'verification'>) {
  const { state, reason, answers, last_checked_at, next_check_at } = verification;
  const { word, tone } = proof_states[state];
  const now_ms = useNow();
  return (
    <>
      <p className={tone}>{word}</p>
      <p>{reason}</p>
      <p className="muted">
        Last check: {last_checked_at === null ? 'not yet' : <Instant at={last_checked_at} />}, next
        check: {next_check_at === null ? 'never' : dueIn(next_check_at, now_ms)}
      </p>
      <Answers answers={answers} reason={reason} />
    </>
  );
}

const outcomes = {
  met: { word: 'Has it', tone: 'good' },
  missing: { word: 'Has not', tone: 'bad' },
  unanswered: { word: 'No answer', tone: 'warn' },
};

/** Shows each resolver's answer at the last check, unless the reason above says it. */
function Answers({ answers, reason }: Pick<DomainRow['verification'], 'answers' | 'reason'>) {
  if (answers.length === 0) return null;
  return (
    <Rows
      rows={answers}
      keyOf={({ resolver }) => resolver}
      columns={{
        Resolver: { short: ({ resolver }) => resolver },
        'The record': {
          short: ({ outcome }) => (
            <span className={outcomes[outcome].tone}>{outcomes[outcome].word}</span>
          ),
        },
        'What it said': ({ detail }) => (detail === reason ? 'As above.' : detail),
        Took: { short: ({ took_ms }) => `${took_ms} ms` },
      }}
    />
  );
}
