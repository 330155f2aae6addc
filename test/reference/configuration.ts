import type { StoryWorld } from './world.ts';

/** A configuration that is planned, applied and read again, and the log of all changes. */
export async function tellConfiguration({ ask, organization }: StoryWorld): Promise<void> {
  const base = `${organization}configuration/`;
  await ask('GET', '/api/configuration/schema/', undefined, {});
  const configuration = {
    projects: {
      web: {
        name: 'Web',
        batch_exports: {
          daily: {
            name: 'Daily',
            interval: 'day',
            destination: { type: 'File', config: { prefix: 'daily/' } },
          },
        },
      },
    },
  };
  const { hash } = await ask('POST', `${base}plan/`, { configuration });
  await ask('GET', `${base}plan/${hash}/`);
  await ask('POST', `${base}apply/`, { hash });
  await ask('GET', base);
  const { objects } = await ask('GET', `${base}objects/`);
  const { kind, id } = objects.at(-1);
  await ask('GET', `${base}?kind=${kind}&id=${id}`);
  await ask('GET', `${organization}activity/?limit=2`);
  await ask('GET', `${organization}activity/chain/`);
}
