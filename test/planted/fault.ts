import { pathToFileURL } from 'node:url';
import { join } from 'node:path';
import process from 'node:process';

/**
 * A fault that a tired engineer could make. In `path`, the text `was`, which occurs exactly once,
 * becomes `is`. The test file `killed_by` then fails.
 */
export type Fault = PlantedFault & { name: string; killed_by: string };

/** The parts of a fault that `plant.ts` needs; `path`: a file, from the repository's folder. */
export type PlantedFault = { path: string; was: string; is: string };

/**
 * Returns the environment in which Node loads the file with the fault; child processes and threads
 * inherit it. No file on disk changes.
 */
export function plantedEnvironment(fault: PlantedFault): {
  NODE_OPTIONS: string;
  PLANTED_FAULT: string;
} {
  const plant = pathToFileURL(join(import.meta.dirname, 'plant.ts')).href;
  const given = process.env['NODE_OPTIONS'] ?? '';
  const { path, was, is } = fault;
  return {
    NODE_OPTIONS: `${given} --import=${plant}`.trim(),
    PLANTED_FAULT: JSON.stringify({ path, was, is }),
  };
}

/** Returns the source with the fault; throws unless it has `was` exactly once. */
export function plantIn(source: string, { path, was, is }: PlantedFault): string {
  const [before, after, ...others] = source.split(was);
  if (after === undefined || others.length > 0)
    throw new Error(
      `${path} says ${after === undefined ? 'nowhere' : 'more than once'}: ${was}\n` +
        'The fault is planted in place of this text. Write the present text into the list in ' +
        'test/planted/, or another fault of the same kind where the code is gone.',
    );
  return `${before}${is}${after}`;
}
