import type { FastifyInstance } from 'fastify';
import { openPathFinder } from '../../../test/fuzz/operations.ts';
import type { FuzzedDocument, Operation } from '../../../test/fuzz/operations.ts';

/** The number of answers with each status, by operation. */
type Answers = Map<string, Map<number, number>>;

/** Counts an app's answers over HTTP from now on. */
export function countAnswers(
  app: FastifyInstance,
  operations: Operation[],
  answers: Answers,
): void {
  const findPath = openPathFinder(app.swagger() as unknown as FuzzedDocument);
  for (const { method, path } of operations)
    if (!answers.has(`${method} ${path}`)) answers.set(`${method} ${path}`, new Map());
  app.server.on('request', (request, response) => {
    response.on('finish', () => {
      const { pathname } = new URL(request.url ?? '/', 'http://x');
      const path = findPath(request.method ?? '', pathname);
      const name = path === undefined ? 'others' : `${request.method} ${path}`;
      const known = answers.get(name) ?? new Map<number, number>();
      const { statusCode } = response;
      answers.set(name, known.set(statusCode, (known.get(statusCode) ?? 0) + 1));
    });
  });
}

/** The answers of several phases. */
export function openTally() {
  const phases = new Map<string, Answers>();
  const statuses = (answers: Iterable<Map<number, number>>) => {
    const sums = new Map<number, number>();
    for (const one of answers)
      for (const [status, count] of one) sums.set(status, (sums.get(status) ?? 0) + count);
    return sums;
  };
  return {
    of(phase: string): Answers {
      const answers = phases.get(phase) ?? new Map();
      phases.set(phase, answers);
      return answers;
    },
    serverErrors(): number {
      const all = statuses([...phases.values()].flatMap((answers) => [...answers.values()]));
      return [...all].reduce((sum, [status, count]) => sum + (status >= 500 ? count : 0), 0);
    },
    /** Prints a line for each phase, and the operations that succeeded in none. */
    print(): void {
      for (const [phase, answers] of phases) console.log(line(phase, statuses(answers.values())));
      const names = new Set([...phases.values()].flatMap((answers) => [...answers.keys()]));
      for (const name of names) {
        const all = statuses([...phases.values()].flatMap((one) => one.get(name) ?? []));
        const seen = [...all.keys()].toSorted((one, other) => one - other);
        if (!seen.some((status) => status < 300))
          console.log(`never with success: ${name} ${seen.join(' ')}`);
      }
    },
  };
}

function line(phase: string, statuses: Map<number, number>): string {
  const total = [...statuses.values()].reduce((sum, count) => sum + count, 0);
  const classes = [2, 3, 4, 5].map((digit) => {
    const count = [...statuses].reduce(
      (sum, [status, times]) => sum + (Math.floor(status / 100) === digit ? times : 0),
      0,
    );
    return `${digit}xx ${count} (${((100 * count) / Math.max(1, total)).toFixed(1)} %)`;
  });
  const each = [...statuses].toSorted(([one], [other]) => one - other);
  const detail = each.map(([status, count]) => `${status}: ${count}`).join(', ');
  return `${phase}: ${total} answers, ${classes.join(', ')}; ${detail}`;
}
