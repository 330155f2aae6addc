import type { CommitAnswer } from '../commit.ts';
import type { Connection } from './connection.ts';

/**
 * The connection broke, the server or a pooler before it ends the session, or the server says that
 * it does not know how the transaction ended.
 */
const unknown_ends = /^(08...|57P..|40003)$/;

/**
 * Judges the error of a COMMIT by the protocol: after an ERROR the transaction is rolled back and
 * the session continues, FATAL and PANIC end the session and leave the commit open. The server may
 * say the severity in its own language; then a session that still answers tells it.
 */
export async function postgresAnswer(
  { rows }: Pick<Connection, 'rows'>,
  error: unknown,
): Promise<CommitAnswer> {
  const { code, severity } = error as { code?: unknown; severity?: unknown };
  // Only what the server itself has said has a severity.
  if (typeof code !== 'string' || typeof severity !== 'string') return 'nothing';
  if (unknown_ends.test(code) || /^(FATAL|PANIC)$/.test(severity)) return 'nothing';
  if (severity === 'ERROR') return 'rolled_back';
  return rows('ROLLBACK').then(
    () => 'rolled_back',
    () => 'nothing',
  );
}
