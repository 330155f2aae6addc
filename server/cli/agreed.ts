import { createInterface } from 'node:readline/promises';
import { UserError } from './user_error.ts';

/**
 * Asks at the terminal, on standard error, and returns whether the answer was "yes"; a closed input
 * means no. Throws a `UserError` without a terminal: `otherwise` says what --yes does.
 */
export async function isAgreed(question: string, otherwise: string): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new UserError(`No terminal to ask on: --yes ${otherwise} without a question.`);
  // Another program may read standard output.
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const closed = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
  try {
    const answered = terminal.question(`${question} (yes/no) `).catch(() => '');
    const answer = await Promise.race([answered, closed]);
    return answer.trim().toLowerCase() === 'yes';
  } finally {
    terminal.close();
  }
}
