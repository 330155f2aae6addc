import sql from 'sql-template-tag';
import { isoInstant } from '../clock.ts';
import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import type { Database, Queryable } from '../postgres/database.ts';
import type { Secrets } from '../secrets/secrets.ts';
import { genesis_hash } from './chain.ts';
import { verifyActivity } from './verify.ts';

/** Interval between checks of each chain. */
const check_interval_ms = 24 * 3_600_000;
/** After this time, a reading process counts as dead. */
const lease_ms = 3_600_000;

/** The parts of the server that the check uses. */
export type CheckDeps = { db: Database; secrets: Secrets; clock: Clock; log: Logger };

/** The result of the server's last check of a chain, entry by entry, up to `number`. */
export type ChainCheck = {
  checked_at: string;
  number: number;
  hash: string;
  faults_found: number;
  /** The first fault in a sentence; null if there is none. */
  detail: string | null;
};

const no_entry = { number: 0, hash: genesis_hash.toString('hex') };

/** The end of a chain and its last check. The check is null before this server's first one. */
export type ChainState = { number: number; hash: string; check: ChainCheck | null };

/**
 * Checks each chain whose last check is a day old, stores the result, and returns the number of
 * chains. Concurrent processes share the chains. Stops between two chains.
 */
export async function checkChains(
  { db, secrets, clock, log }: CheckDeps,
  signal = new AbortController().signal,
): Promise<number> {
  let checked = 0;
  while (!signal.aborted) {
    const chain_id = await claimChain(db, clock.now());
    if (chain_id === undefined) break;
    // Read first: entries appended meanwhile belong to the next check.
    const end = (await findEnd(db, chain_id)) ?? no_entry;
    const { faults_found, faults } = await verifyActivity(db, secrets, chain_id);
    if (faults_found > 0)
      log.error({ chain_id, faults: faults.slice(0, 10) }, 'the activity log was tampered with');
    await storeCheck(db, secrets, chain_id, {
      checked_at: isoInstant(clock.now()),
      ...end,
      faults_found,
      detail: faults[0] === undefined ? null : `Entry ${faults[0].number}: ${faults[0].detail}`,
    });
    checked += 1;
  }
  return checked;
}

/** Claims the chain that has waited longest for its check and that no other process reads. */
async function claimChain(db: Database, now_ms: number): Promise<string | undefined> {
  const now = isoInstant(now_ms);
  const row = await db.row<{ chain_id: string }>(sql`
    INSERT INTO activity_checks AS c (chain_id, checking_until)
    SELECT head.chain_id, ${isoInstant(now_ms + lease_ms)}::timestamptz
    FROM activity_heads head LEFT JOIN activity_checks known USING (chain_id)
    WHERE (known.checking_until IS NULL OR known.checking_until <= ${now}::timestamptz)
      AND (known.checked_at IS NULL
        OR known.checked_at <= ${isoInstant(now_ms - check_interval_ms)}::timestamptz)
    ORDER BY known.checked_at NULLS FIRST LIMIT 1
    ON CONFLICT (chain_id) DO UPDATE SET checking_until = excluded.checking_until
      WHERE c.checking_until <= ${now}::timestamptz
    RETURNING chain_id`);
  return row?.chain_id;
}

function findEnd(
  db: Queryable,
  chain_id: string,
): Promise<{ number: number; hash: string } | undefined> {
  return db.row(sql`SELECT number, encode(hash, 'hex') AS hash FROM activity_heads
    WHERE chain_id = ${chain_id}::uuid`);
}

async function storeCheck(
  db: Database,
  secrets: Secrets,
  chain_id: string,
  check: ChainCheck,
): Promise<void> {
  const { checked_at, number, hash, faults_found, detail } = check;
  await db.run(sql`
    UPDATE activity_checks SET checked_at = ${checked_at}::timestamptz, number = ${number},
      hash = decode(${hash}, 'hex'), faults_found = ${faults_found}, detail = ${detail},
      seal = ${sealOfCheck(secrets, chain_id, check)}, checking_until = ${checked_at}::timestamptz
    WHERE chain_id = ${chain_id}::uuid`);
}

/**
 * Finds the end of the chain and its last check. A chain without entries ends at 0, with the
 * genesis hash.
 */
export async function findChainState(
  db: Queryable,
  secrets: Secrets,
  chain_id: string,
): Promise<ChainState> {
  const end = (await findEnd(db, chain_id)) ?? no_entry;
  const row = await db.row<ChainCheck & { seal: Buffer }>(sql`
    SELECT checked_at, number, encode(hash, 'hex') AS hash, faults_found, detail, seal
    FROM activity_checks WHERE chain_id = ${chain_id}::uuid AND checked_at IS NOT NULL`);
  if (row === undefined) return { ...end, check: null };
  const { seal, ...check } = row;
  const isOurs = sealOfCheck(secrets, chain_id, check).equals(seal);
  return { ...end, check: isOurs ? check : null };
}

/** Without the server's key, nobody can forge a check or its result. */
function sealOfCheck(secrets: Secrets, chain_id: string, check: ChainCheck): Buffer {
  const { checked_at, number, hash, faults_found, detail } = check;
  return secrets.chain(
    JSON.stringify(['check', chain_id, checked_at, number, hash, faults_found, detail]),
  );
}
