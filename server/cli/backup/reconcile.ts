import { reconcileAll } from '../../engine/exports/reconcile/reconcile.ts';
import type { Assumption } from '../../engine/exports/reconcile/assume.ts';
import { isUuid } from '../../platform/uuid.ts';
import type { CommandContext } from '../command_context.ts';
import { WrongUsageError } from '../user_error.ts';
import { withProcess } from '../process/with_process.ts';
import { tellReconciled } from './tell_reconciled.ts';

/** The options of `sluice reconcile`. */
type ReconcileFlags = { export?: string; assume?: string; json?: boolean };

/**
 * `sluice reconcile`: asks the destinations for the deliveries of exports that still wait since a
 * restore, also beside a running server. Exit code 1 if some exports still wait.
 */
export async function reconcile(context: CommandContext, flags: ReconcileFlags): Promise<number> {
  const { say } = context;
  if (flags.export !== undefined && !isUuid(flags.export))
    throw new WrongUsageError(`"${flags.export}" is not the id of an export.`);
  const assumption = assumptionOf(flags);
  const found = await withProcess(context, ({ deps }) =>
    reconcileAll(deps.engine, {
      ...(flags.export === undefined ? {} : { only: flags.export }),
      ...(assumption === undefined ? {} : { assumption }),
    }),
  );
  if (flags.json === true) say(JSON.stringify({ exports: found }));
  else if (found.length === 0)
    say(
      flags.export === undefined
        ? 'No export needs to be reconciled.'
        : `The export ${flags.export} is not waiting for reconciliation. Without --export, ` +
            'all waiting exports are reconciled.',
    );
  else tellReconciled(found, say);
  return found.some(({ is_waiting }) => is_waiting) ? 1 : 0;
}

function assumptionOf({ export: id, assume }: ReconcileFlags): Assumption | undefined {
  if (assume === undefined) return undefined;
  if (assume !== 'delivered' && assume !== 'missing')
    throw new WrongUsageError('--assume must be delivered or missing.');
  if (id === undefined)
    throw new WrongUsageError('--assume needs one export: name it with --export.');
  return assume;
}
