import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useContext } from 'react';
import type { ReactNode } from 'react';
import { latestBackfills } from '../backfills/backfills.ts';
import { useInLabels } from '../../destinations/destinations.ts';
import { useExport } from '../export_context.ts';
import { useRunsFollowed } from '../following.ts';
import { Form } from '../../form/form.tsx';
import { CommandLine } from '../../page/around/command_line.tsx';
import { Empty } from '../../page/empty.tsx';
import { LinkButton } from '../../page/link_button.tsx';
import { counted } from '../../page/text/quantities.ts';
import { Sentence } from '../../page/text/sentence.tsx';
import { Shown } from '../../page/shown.tsx';
import { Instant, ZoneContext } from '../../time/instant.tsx';
import { useNow } from '../../time/now.ts';
import { seconds, written } from '../../time/words.ts';
import { many_runs } from '../runs/bulk.ts';
import { NextTry, TryNow } from '../runs/next_try.tsx';
import { runsOf } from '../runs/listed_run.ts';
import { RunList } from '../runs/run_list.tsx';
import { latestRuns } from '../runs/runs.ts';
import { pathTo } from '../../http/path.ts';
import { doubledIn, incidentsOf } from './incidents.ts';
import type { Incident } from './incidents.ts';

/** Shows the cause of failures and the missing intervals, then the proof of delivery. */
export function IncidentPage() {
  const { ids } = useExport();
  const now_ms = useNow();
  const query = useQuery(latestRuns(ids));
  useRunsFollowed(query.refetch);
  return (
    <Shown query={query}>
      {(page) => {
        const { results, next } = page;
        const [incident, ...earlier] = incidentsOf(runsOf([page]), now_ms);
        if (incident === undefined)
          return (
            <Empty title="No incident">
              No attempt has failed in{' '}
              {next === null ? 'any run' : `the latest ${counted(results.length, 'run')}`}. When one
              fails, this page has the cause, what is missing, and what Sluice does about it.
            </Empty>
          );
        return (
          <>
            {incident.until === null ? <Open incident={incident} /> : <Over incident={incident} />}
            <section className="part">
              <h2>Intervals</h2>
              <RunList
                runs={incident.intervals.flatMap(({ runs }) => runs)}
                has_more={false}
                is_waiting={false}
                more={() => undefined}
                is_narrowed
              />
            </section>
            {earlier.length > 0 && <Earlier incidents={earlier} />}
          </>
        );
      }}
    </Shown>
  );
}

function Open({ incident }: { incident: Incident }) {
  const { row } = useExport();
  const inLabels = useInLabels(row.destination.type);
  const { missing, since, cause, next_try_at, failed_attempts, is_partial } = incident;
  const rows = incident.counted - incident.delivered - incident.refused;
  const failed = missing.filter(({ told }) => told.retry === 'possible').length;
  return (
    <section className="part incident bad_edge">
      <h2 className="bad">
        <Sentence text={inLabels(cause ?? 'The log of the run says what is wrong.')} />
      </h2>
      <Facts
        facts={[
          ['First failure', <Instants key="since" at={since} />],
          ['Missing', counted(missing.length, 'interval')],
          [
            'Rows waiting',
            is_partial ? `${rows.toLocaleString('en')} or more` : counted(rows, 'row'),
          ],
          ['Failed attempts', failed_attempts.toLocaleString('en')],
        ]}
      />
      {next_try_at === null && failed === 0 && <p role="status">Sluice is trying again now.</p>}
      {next_try_at !== null && (
        <p role="status">
          <NextTry at={next_try_at} /> Sluice tries each run up to 15 times, with up to two minutes
          between. The rows stay in Sluice until the destination has them.
        </p>
      )}
      {failed > 0 && (
        <p>Sluice has given up {counted(failed, 'interval')}. Remove the cause, then retry.</p>
      )}
      <div className="row_actions">
        {next_try_at !== null && <TryNow is_primary />}
        {failed > 0 && <RetryFailed incident={incident} count={failed} />}
        <LinkButton
          to="/projects/$project_id/exports/$export_id/settings"
          params={{ project_id: String(row.team_id), export_id: row.id }}
        >
          Change the settings
        </LinkButton>
      </div>
    </section>
  );
}

function RetryFailed({ incident: { data }, count }: { incident: Incident; count: number }) {
  const { row, ids } = useExport();
  const navigate = useNavigate();
  return (
    <Form
      path={pathTo(many_runs, ids)}
      body={() => ({
        action: 'retry_runs' as const,
        filter: { after: data.from, before: data.to },
      })}
      done={({ id }) =>
        navigate({
          to: '/projects/$project_id/exports/$export_id/runs',
          params: { project_id: String(row.team_id), export_id: row.id },
          search: { action: id, after: data.from, before: data.to },
        })
      }
      button={`Retry ${counted(count, 'interval')}`}
    />
  );
}

function Over({ incident }: { incident: Incident }) {
  const { since, until, cause, data } = incident;
  const inLabels = useInLabels(useExport().row.destination.type);
  const zone = useContext(ZoneContext);
  return (
    <section className="part incident good_edge">
      <h2 className="good">
        {incident.refused === 0 ? 'All rows are delivered' : 'Delivered, except refused rows'}
      </h2>
      <Proof incident={incident} />
      <Facts
        facts={[
          ['First failure', <Instants key="since" at={since} />],
          ['Delivered', <Instants key="until" at={until!} />],
          ['Failed attempts', incident.failed_attempts.toLocaleString('en')],
          ['Data of', `${written(data.from, zone)} to ${written(data.to, zone)}`],
        ]}
      />
      {cause !== undefined && (
        <p className="muted">
          Cause: <Sentence text={inLabels(cause)} />
        </p>
      )}
      <p className="muted small">
        Sluice counts the rows at the source before it writes, and each run signs a receipt of what
        it wrote. <CommandLine words="verify" /> compares both with the destination.
      </p>
    </section>
  );
}

/** The sentence that answers whether rows were lost. */
function Proof({ incident }: { incident: Incident }) {
  const { ids } = useExport();
  const zone = useContext(ZoneContext);
  const { data } = useQuery(latestBackfills(ids));
  const { since, until, counted: rows, delivered, refused } = incident;
  const clock = (at: string) => seconds(at, zone).slice(11);
  const doubled = data === undefined ? undefined : doubledIn(incident, data.results);
  const number = (count: number) => count.toLocaleString('en');
  return (
    <p className="proof" role="status">
      {clock(since)} to {clock(until!)}: {number(rows)} counted, {number(delivered)} delivered
      {refused > 0 && `, ${number(refused)} refused and set aside`},{' '}
      {doubled === undefined ? '…' : number(doubled)} doubled.
    </p>
  );
}

function Earlier({ incidents }: { incidents: Incident[] }) {
  const zone = useContext(ZoneContext);
  return (
    <section className="part">
      <h2>Earlier</h2>
      <ul className="earlier">
        {incidents.map(({ since, until, intervals, counted: rows, delivered }) => (
          <li key={since}>
            {seconds(since, zone)} to {until === null ? 'now' : seconds(until, zone)}:{' '}
            {counted(intervals.length, 'interval')}, {rows.toLocaleString('en')} counted,{' '}
            {delivered.toLocaleString('en')} delivered
          </li>
        ))}
      </ul>
    </section>
  );
}

function Facts({ facts }: { facts: [string, ReactNode][] }) {
  return (
    <dl className="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Instants({ at }: { at: string }) {
  const zone = useContext(ZoneContext);
  return (
    <>
      {seconds(at, zone).slice(11)} (<Instant at={at} />)
    </>
  );
}
