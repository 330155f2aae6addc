/**
 * The program of a scratch engine: chDB in its own folder, for queries over files. Runs the SQL of
 * each message and answers with its text or its fault. Ends when its parent is gone.
 */
import { faultOf, openEngine } from './session.ts';
import { lowerPriority } from '../../processes/process_priority.ts';
import { engine_niceness, large_answer_niceness } from './orders.ts';

/** The query of a parent. */
export type ScratchQuestion = { sql: string };
/** Its answer. */
export type ScratchAnswer = { text: string } | { fault: string };

const [folder = '', memory = ''] = process.argv.slice(2);
lowerPriority(large_answer_niceness, engine_niceness);
const engine = await openEngine(folder, Number(memory));
// The parent removes the folder, or nobody needs it; an orderly end could wait for a query.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
process.on('message', ({ sql }: ScratchQuestion) => {
  engine.run(sql).then(
    (bytes) => answer({ text: Buffer.from(bytes).toString('utf8') }),
    (error: unknown) => answer({ fault: faultOf(error).text }),
  );
});
answer({ text: 'ready' });

function answer(one: ScratchAnswer): void {
  process.send?.(one);
}
