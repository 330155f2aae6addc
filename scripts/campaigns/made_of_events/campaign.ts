import { runProjects } from '../../../test/made_of_events/campaign.ts';
import { anySeed } from '../../options.ts';

/** The options that the campaigns of models made of events share. */
export const defaults = { seed: anySeed(), 'per-project': 1_000, 'first-project': 0 };

/** Plays histories of this many rows and returns the result. Throws with the differences. */
export async function playProjects<Checked extends Record<string, number>>(
  what: string,
  rows: number,
  { seed, ...options }: typeof defaults,
  checkProject: Parameters<typeof runProjects<Checked>>[1],
): Promise<void> {
  console.log(`${rows} ${what}, seed ${seed}`);
  const began = performance.now();
  const campaign = {
    rows,
    rows_per_project: options['per-project'],
    seed,
    first_project: options['first-project'],
    say: (line: string) => console.log(line),
  };
  const checked = await runProjects(campaign, checkProject);
  const seconds = Math.round((performance.now() - began) / 1000);
  console.log(
    `seed ${seed}: the table is as the recomputation in all ${rows} histories; ` +
      `${JSON.stringify(checked)}; ${seconds} s`,
  );
}
