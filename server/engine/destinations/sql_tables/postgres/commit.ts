import type { CommitAnswer } from '../commit.ts';
import type { Connection } from './connection.ts';

/**
 * The connection broke, the server or a pooler is ending the session, or the server reports that
 * the end of the transaction is unknown.
 */
const unknown_ends = /^(08...|57P..|40003)$/;

/**
 * Judges the error of a COMMIT by the protocol. After an ERROR the transaction is rolled back and
 * the session continues. FATAL and PANIC end the session and leave the result of the commit
 * unknown. The server may translate the severity; then the code checks whether the session still
 * answers.
 */
export async function postgresAnswer(
  { rows }: Pick<Connection, 'rows'>,
  error: unknown,
): Promise<CommitAnswer> {
  const { code, severity } = error as { code?: unknown; severity?: unknown };
  // Only the server's own errors have a severity.
  if (typeof code !== 'string' || typeof severity !== 'string') return 'nothing';
  if (unknown_ends.test(code) || /^(FATAL|PANIC)$/.test(severity)) return 'nothing';
  if (severity === 'ERROR') return 'rolled_back';
  return rows('ROLLBACK').then(
    () => 'rolled_back',
    () => 'nothing',
  );
}
