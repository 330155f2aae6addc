import { Button } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useContext, useState } from 'react';
import type { Deviation } from '../../../server/api/batch_exports/deviations/schema.ts';
import { TextField } from '../../form/fields.tsx';
import { Form } from '../../form/form.tsx';
import { addressOf } from '../../http/address.ts';
import { pathTo } from '../../http/path.ts';
import { Dialog } from '../../page/dialog.tsx';
import { counted } from '../../page/text/quantities.ts';
import { Seldom } from '../../page/section.tsx';
import { Sentence } from '../../page/text/sentence.tsx';
import { Shown } from '../../page/shown.tsx';
import { Instant, ZoneContext } from '../../time/instant.tsx';
import { dated } from '../../time/words.ts';
import { useExport } from '../export_context.ts';
import { overviewOf } from '../list/overview.ts';
import type { Span } from '../slots/boundaries.ts';
import { deviations, latestDeviations, statementPath } from './proof.ts';
import { kindInWords, repairInWords, scheduleInWords } from './words.ts';

/** Findings of scheduled verification, its progress, and the statement about a range. */
export function Deviations({ span }: { span: Span }) {
  const { row, ids } = useExport();
  const query = useQuery(latestDeviations(ids));
  const overview = useQuery(overviewOf(String(row.team_id), row.id)).data?.results[0];
  return (
    <section className="part" aria-label="Findings">
      <div className="part_head">
        <h2>Findings</h2>
        <div className="row_actions">
          <Statement span={span} format="json" label="Download statement" />
          <Statement span={span} format="text" label="Download as text" />
        </div>
      </div>
      {overview !== undefined && <Standing verification={overview.verification} />}
      <Shown query={query}>{({ results }) => <Found found={results} />}</Shown>
    </section>
  );
}

function Statement({
  span,
  format,
  label,
}: {
  span: Span;
  format: 'json' | 'text';
  label: string;
}) {
  const { ids } = useExport();
  return (
    <Button
      component="a"
      size="compact-sm"
      href={addressOf(statementPath(ids, span, format))}
      download
    >
      {label}
    </Button>
  );
}

function Standing({ verification }: { verification: Parameters<typeof scheduleInWords>[0] }) {
  const zone = useContext(ZoneContext);
  const { text, tone } = scheduleInWords(verification, (at) => dated(at, zone));
  return (
    <p className={tone}>
      <Sentence text={text} />
    </p>
  );
}

function Found({ found }: { found: readonly Deviation[] }) {
  const present = found.filter(({ state }) => state !== 'resolved');
  const past = found.filter(({ state }) => state === 'resolved');
  return (
    <>
      {present.map((one) => (
        <One key={one.id} deviation={one} />
      ))}
      {past.length > 0 && (
        <Seldom summary={counted(past.length, 'resolved finding')}>
          {past.map((one) => (
            <One key={one.id} deviation={one} />
          ))}
        </Seldom>
      )}
    </>
  );
}

function One({ deviation }: { deviation: Deviation }) {
  const { row } = useExport();
  const { kind, detail, example, state, delivery, first_seen_at, last_seen_at } = deviation;
  const { accepted_by, accepted_reason, resolved_at } = deviation;
  return (
    <section className="finding_group" aria-label={detail}>
      <p>
        <strong className={state === 'open' ? 'bad' : ''}>{kindInWords(kind)}</strong>{' '}
        <Sentence text={detail} />{' '}
        {delivery !== null && (
          <Link
            to="/projects/$project_id/exports/$export_id/runs/$run_id"
            params={{ project_id: String(row.team_id), export_id: row.id, run_id: delivery.run }}
          >
            Run
          </Link>
        )}
      </p>
      <p className="muted small">
        Found <Instant at={first_seen_at} />
        {resolved_at === null ? ', last seen ' : ', resolved '}
        <Instant at={resolved_at ?? last_seen_at} />. Example: <code>{example.name}</code>:{' '}
        <Sentence text={example.detail} />
      </p>
      {state === 'accepted' && (
        <p>
          Accepted by <bdi>{accepted_by}</bdi>: <bdi>{accepted_reason}</bdi>
        </p>
      )}
      {state !== 'resolved' && <Ways deviation={deviation} />}
    </section>
  );
}

/** The two ways to close a finding. */
function Ways({ deviation }: { deviation: Deviation }) {
  const [is_accepting, setAccepting] = useState(false);
  const { state, repair } = deviation;
  return (
    <div className="row_actions">
      {repair === null ? (
        <span className="muted small">
          Sluice cannot repair this: remove the rows of others at the destination.
        </span>
      ) : (
        <Repair deviation={deviation} repair={repair} />
      )}
      {state === 'open' && <Button onClick={() => setAccepting(true)}>Accept finding</Button>}
      {is_accepting && <Accept deviation={deviation} close={() => setAccepting(false)} />}
    </div>
  );
}

function Accept({ deviation: { id, detail }, close }: { deviation: Deviation; close: () => void }) {
  const { ids } = useExport();
  const changed = useChanged();
  return (
    <Dialog title="Accept finding" close={close}>
      <p>
        <Sentence text={detail} />
      </p>
      <p className="muted small">
        Accept it if the destination is right as it is now. The signed statement shows your name and
        your reason.
      </p>
      <Form
        path={pathTo(`${deviations}:id/accept/`, { ...ids, id })}
        body={({ reason }) => ({ reason: reason ?? '' })}
        done={async () => {
          await changed();
          close();
        }}
        button="Accept finding"
        beside={<Button onClick={close}>Cancel</Button>}
      >
        <TextField name="reason" label="Reason" />
      </Form>
    </Dialog>
  );
}

function Repair({
  deviation: { id },
  repair: { action, detail, run, backfill },
}: {
  deviation: Deviation;
  repair: NonNullable<Deviation['repair']>;
}) {
  const { ids } = useExport();
  const changed = useChanged();
  const title = repairInWords(action);
  if (run !== null || backfill !== null)
    return (
      <span className="good" role="status">
        The repair was started. The next verification says whether it is done.
      </span>
    );
  return (
    <Form
      path={pathTo(`${deviations}:id/repair/`, { ...ids, id })}
      part={id}
      body={() => ({})}
      done={changed}
      button={title}
      asks={() => ({ title: `${title}?`, text: detail, button: title, keep: 'Leave it as it is' })}
    />
  );
}

function useChanged(): () => Promise<void> {
  const { row, ids } = useExport();
  const queries = useQueryClient();
  return async () => {
    await queries.invalidateQueries({ queryKey: latestDeviations(ids).queryKey });
    await queries.invalidateQueries({ queryKey: overviewOf(String(row.team_id), row.id).queryKey });
  };
}
