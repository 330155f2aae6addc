import sql from 'sql-template-tag';
import { commandLine } from '../../platform/command_line.ts';
import { findPrimary, judgeStandbys, readStandbys } from '../../platform/postgres/control_store.ts';
import type { Standbys } from '../../platform/postgres/control_store.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { fault, ok, warning } from './finding.ts';
import type { Finding } from './finding.ts';

/** Reports which acknowledged changes survive the loss of PostgreSQL's machine. */
export async function lookAtPrimary(db: Database): Promise<Finding[]> {
  return [standbyFinding(await readStandbys(db)), ...(await failoverFindings(db))];
}

/** Reports whether acknowledged writes are on a standby too. */
export function standbyFinding(standbys: Standbys): Finding {
  const { wanted, commit } = standbys;
  switch (judgeStandbys(standbys)) {
    case 'none':
      return ok(
        'standby',
        'PostgreSQL waits for no standby: acknowledged changes exist in one place',
      );
    case 'unsafe':
      return warning(
        'standby',
        `synchronous_commit is ${commit}, so PostgreSQL answers before "${wanted}" has it; set ` +
          'it to on.',
      );
    case 'unknown':
      return warning(
        'standby',
        `"${wanted}" is awaited, and this user may not see whether it is connected; grant it ` +
          'pg_monitor.',
      );
    case 'missing':
      return fault(
        'standby',
        `PostgreSQL waits for "${wanted}", which is not connected, so every change waits. ` +
          'Bring it back, or take it out of synchronous_standby_names.',
      );
    default:
      return ok('standby', `a standby has the acknowledged changes too ("${wanted}")`);
  }
}

async function failoverFindings(db: Database): Promise<Finding[]> {
  const noted = await findPrimary(db);
  if (noted === undefined) return [];
  const { timeline, since, lost_bytes } = noted;
  if (lost_bytes === 0) return [ok('primary', `timeline ${timeline}, since ${since}`)];
  const waiting = await db.row(sql`SELECT 1 FROM reconciliations`);
  const told =
    `the failover of ${since} lost ${lost_bytes} bytes of commits that were answered (timeline ` +
    `${timeline})`;
  return [
    waiting === undefined
      ? warning('primary', `${told}; the exports were reconciled.`)
      : fault('primary', `${told}; exports wait for \`${commandLine('reconcile')}\`.`),
  ];
}
