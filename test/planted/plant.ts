/**
 * Loaded first (`node --import`), it plants the fault of `PLANTED_FAULT` in this process: the
 * faulty file is loaded with the fault in its source.
 */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { plantIn } from './fault.ts';
import type { PlantedFault } from './fault.ts';

const planted = process.env['PLANTED_FAULT'];
if (planted !== undefined) {
  const fault = JSON.parse(planted) as PlantedFault;
  const path = join(import.meta.dirname, '..', '..', fault.path);
  const url = pathToFileURL(path).href;
  // Hooks do not get the source of a file that `require` loads, so it is read here.
  const source = plantIn(readFileSync(path, 'utf8'), fault);
  registerHooks({
    load: (loaded, context, nextLoad) => {
      const result = nextLoad(loaded, context);
      return loaded === url ? { ...result, source } : result;
    },
  });
}
