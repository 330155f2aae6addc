import { counted } from '../../platform/counted.ts';
import type { Reconciled } from '../../engine/exports/reconcile/reconcile.ts';
import { oneLine } from '../shown_text.ts';

/** Most file names in the list; --json has all. */
const names_max = 5;

/** Prints the result for each export, and which rows its store has lost. */
export function tellReconciled(found: Reconciled[], write: (line: string) => void): void {
  const say = (line: string) => write(oneLine(line));
  for (const one of found) {
    const { entered, lost } = one;
    const head = `${one.name} (${one.batch_export_id}, ${one.destination})`;
    say(`${one.is_waiting ? 'WAITS' : one.goes_on ? 'continues' : 'paused'}  ${head}`);
    if (one.detail !== null) say(`  ${one.detail}`);
    if (entered.completed > 0)
      say(
        `  entered from ${counted(entered.completed, 'receipt')}: ` +
          `${counted(one.records, 'row')} that were delivered after the backup`,
      );
    if (entered.restarted > 0)
      say(`  ${counted(entered.restarted, 'run')} of the backup without a receipt: restarted`);
    if (entered.backfills_cancelled > 0)
      say(`  ${counted(entered.backfills_cancelled, 'backfill')} with mode all: cancelled`);
    if (lost !== null) {
      say(
        `  LOST by the store: ${counted(lost.rows, 'row')} that came in between ${lost.from} and ` +
          `${lost.to}; the destination has them:`,
      );
      tellNames(lost.names, say);
    }
    if (one.loose.length > 0) {
      say('  no receipt names these files; unless another server is just writing them, they are');
      say('  what a delivery had shown when everything ended, and their rows come again:');
      tellNames(one.loose, say);
    }
    if (one.others > 0)
      say(`  ${counted(one.others, 'receipt')} of a version that the backup does not have`);
  }
}

function tellNames(names: string[], say: (line: string) => void): void {
  for (const name of names.slice(0, names_max)) say(`    ${name}`);
  if (names.length > names_max) say(`    and ${names.length - names_max} more (--json lists them)`);
}
