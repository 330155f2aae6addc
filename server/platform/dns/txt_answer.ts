/**
 * Why a query got no answer: the resolver said so (`servfail`, `refused`), its answer is unusable
 * (`malformed`, `alias_loop`), or nothing came.
 */
export type UnansweredReason =
  | 'servfail'
  | 'refused'
  | 'malformed'
  | 'alias_loop'
  | 'timeout'
  | 'unreachable';

/**
 * The TXT records of a name. `records` has at least one entry: strings of a split record are
 * joined, bytes are read as UTF-8, and invalid UTF-8 becomes U+FFFD. `no_records`: the name exists
 * without a TXT record. `no_such_name`: the name does not exist. `unanswered`: nothing is known.
 */
export type TxtAnswer =
  | { outcome: 'found'; records: string[] }
  | { outcome: 'no_records' }
  | { outcome: 'no_such_name' }
  | { outcome: 'unanswered'; reason: UnansweredReason };

/**
 * If resolvers disagree on the reason, the reason that helps the owner of the name most comes
 * first.
 */
const reasons_by_weight: UnansweredReason[] = [
  'alias_loop',
  'servfail',
  'refused',
  'malformed',
  'timeout',
  'unreachable',
];

/**
 * Joins the answers of several resolvers. Guarantee: one answer with records is enough, and the
 * records of all are joined. A name that one resolver knows exists. A resolver without an answer
 * never hides another's answer.
 */
export function combineAnswers(answers: TxtAnswer[]): TxtAnswer {
  const records = new Set(
    answers.flatMap((answer) => (answer.outcome === 'found' ? answer.records : [])),
  );
  if (records.size > 0) return { outcome: 'found', records: [...records] };
  if (answers.some(({ outcome }) => outcome === 'no_records')) return { outcome: 'no_records' };
  if (answers.some(({ outcome }) => outcome === 'no_such_name')) return { outcome: 'no_such_name' };
  const reasons = new Set(
    answers.map((answer) => (answer.outcome === 'unanswered' ? answer.reason : undefined)),
  );
  return {
    outcome: 'unanswered',
    reason: reasons_by_weight.find((reason) => reasons.has(reason)) ?? 'unreachable',
  };
}
