import { row_tables } from '../../engine/model/removals/delete_rows.ts';
import { verifyExports } from '../../engine/exports/verification/verify_exports.ts';
import type { Finding } from '../../engine/exports/verification/verify_exports.ts';
import { caughtUp } from '../../platform/clickhouse/topology/caught_up.ts';
import { counted } from '../../platform/counted.ts';
import { isUuid } from '../../platform/uuid.ts';
import type { CommandContext } from '../command_context.ts';
import { withProcess } from '../process/with_process.ts';
import { oneLine } from '../shown_text.ts';
import { UserError, WrongUsageError } from '../user_error.ts';
import { forgetMissing, heldLine, isForgettingAgreed } from './held_deliveries.ts';

/** The options of `sluice verify`. */
type VerifyFlags = { export?: string; json?: boolean; forgetMissing?: boolean; yes?: boolean };

/**
 * Reads the destinations again and compares them with the receipts of all completed runs. If a
 * destination cannot be read, only the receipts are checked. Exit code 0 if everything is as
 * delivered; 1 if something differs, is uncertain or could not be compared. It names each case, and
 * a fault of one export does not stop the others. Skips deliveries of earlier revisions (another
 * destination or layout).
 */
export async function verify(context: CommandContext, options: VerifyFlags): Promise<number> {
  const { say } = context;
  if (options.export !== undefined && !isUuid(options.export))
    throw new WrongUsageError(`"${options.export}" is not the id of an export.`);
  const findings = await withProcess(context, async ({ deps }) => {
    const found = await caughtUp(deps.clickhouse, row_tables, () =>
      verifyExports(deps.engine, options.export, (line) =>
        process.stderr.write(`${oneLine(line)}\n`),
      ),
    );
    if (found.length === 0 && options.export !== undefined)
      throw new UserError(`There is no export ${options.export}.`);
    if (options.json === true) say(JSON.stringify({ exports: found }));
    else if (found.length === 0) say('There are no exports, so there is nothing to verify.');
    else for (const finding of found) tellFinding(finding, say);
    if (options.forgetMissing === true) {
      const agreed = options.yes === true ? async () => true : isForgettingAgreed;
      for (const line of await forgetMissing(deps.engine, found, agreed))
        process.stderr.write(`${oneLine(line)}\n`);
    }
    return found;
  });
  return findings.every(isAsDelivered) ? 0 : 1;
}

function isAsDelivered({ differences, fault, held }: Finding): boolean {
  return differences.length === 0 && fault === null && held.length === 0;
}

/** Writes the findings of an export as lines. Its name and its rows stay within their line. */
export function tellFinding(finding: Finding, write: (line: string) => void): void {
  const say = (line: string) => write(oneLine(line));
  const summary =
    `${finding.name} (${finding.batch_export_id}, ${finding.destination}): ` +
    `${counted(finding.deliveries, 'delivery')}, ${counted(finding.records, 'row')}`;
  const isWhole = isAsDelivered(finding);
  const good = finding.is_readable ? 'ok' : 'signed';
  const differs = finding.differences.length > 0 || finding.held.some((one) => !one.uncertain);
  const bad = differs && finding.fault === null ? 'DIFFERS' : 'UNKNOWN';
  say(`${(isWhole ? good : bad).padEnd(8)} ${summary}`);
  if (finding.fault !== null) say(`  ${finding.fault}`);
  for (const one of finding.held) say(`  ${heldLine(one)}`);
  for (const note of finding.notes) say(`  note       ${note}`);
  for (const difference of finding.differences)
    say(`  ${difference.kind.padEnd(10)} ${difference.name}: ${difference.detail}`);
}
