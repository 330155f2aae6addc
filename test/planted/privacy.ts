import type { Fault } from './fault.ts';

/** Faults of erasure, retention and secrets. */
export const privacy_faults: Fault[] = [
  {
    name: 'a later erasure lets in again whom an earlier one refused',
    path: 'server/engine/ingest/persons/erased_ids.ts',
    was: "WHERE excluded.late_events = 'refuse' AND known.late_events <> 'refuse'`);",
    is: "WHERE known.late_events <> 'anonymize'`);",
    killed_by: 'server/engine/ingest/persons/erased_ids.test.ts',
  },
  {
    name: 'an erasure forgets the copies that a delivery in doubt may show',
    path: 'server/engine/privacy/erasures/judge_copies.ts',
    was: "(run.status = 'Completed' OR run.committing_at IS NOT NULL\n        OR",
    is: "(run.status = 'Completed'\n        OR",
    killed_by: 'server/engine/privacy/erasures/work.test.ts',
  },
  {
    name: 'an erasure makes a delivery again of fewer rows than it had',
    path: 'server/engine/privacy/erasures/judge_copies.ts',
    was: '(wanted === undefined || found === wanted)',
    is: '(wanted === undefined || found <= wanted)',
    killed_by: 'server/engine/privacy/erasures/work.test.ts',
  },
  {
    name: 'retention removes rows that have not settled',
    path: 'server/engine/privacy/retention/decide.ts',
    was: 'const before = Math.min(cutoffOf(setting, now), settled);',
    is: 'const before = cutoffOf(setting, now);',
    killed_by: 'server/engine/privacy/retention/decide.test.ts',
  },
  {
    name: 'retention removes rows whose delivery no receipt proves',
    path: 'server/engine/privacy/retention/decide.ts',
    was: 'subtract(one.delivered, unproven.get(one.id) ?? [])',
    is: 'one.delivered',
    killed_by: 'server/engine/privacy/retention/decide.test.ts',
  },
  {
    name: 'retention takes the rows that a query left out for delivered',
    path: 'server/engine/privacy/retention/decide.ts',
    was: 'return custom_query === null && !isReplacing(write_rule)',
    is: 'return !isReplacing(write_rule)',
    killed_by: 'server/engine/privacy/retention/decide.test.ts',
  },
  {
    name: 'an exchange of the secret key leaves secrets under the old one',
    path: 'server/platform/secrets/secrets.ts',
    was: 'if (unwrapped(present(), envelope, context) !== undefined) return undefined;',
    is: 'if (unwrap(envelope, context) !== undefined) return undefined;',
    killed_by: 'server/cli/secrets.test.ts',
  },
];
