import { useState } from 'react';
import type { Static } from 'typebox';
import type { IngestionRuleRow, TriedOutcome } from '../../server/api/ingestion_rules/schema.ts';
import { Form } from '../form/form.tsx';
import { LongField } from '../form/long_field.tsx';
import { TextField } from '../form/fields.tsx';
import { pathTo } from '../http/path.ts';
import { Coded } from '../page/text/coded.tsx';
import { Command } from '../page/command.tsx';

type Outcome = Static<typeof TriedOutcome>;

const example = JSON.stringify(
  {
    event: 'signed up',
    distinct_id: 'user-17',
    properties: { email: 'ada@example.com', plan: 'team' },
  },
  undefined,
  2,
);

const words = {
  stored: ['Sluice would store this event.', 'good'],
  dropped: ['A rule would drop this event.', 'warn'],
  refused: ['Sluice would refuse this event.', 'bad'],
} satisfies Record<Outcome['outcome'], [string, string]>;

/** Shows what ingestion would store for a pasted event. */
export function TrySection({
  project_id,
  rules,
}: {
  project_id: string;
  rules: IngestionRuleRow[];
}) {
  const [outcome, setOutcome] = useState<Outcome>();
  return (
    <>
      <Form
        path={pathTo('/api/projects/:project_id/ingestion_rules/try/', { project_id })}
        body={({ event, user_agent }) => ({
          event,
          ...(user_agent === undefined ? {} : { user_agent }),
        })}
        done={setOutcome}
        button="Try rules"
        tone="plain"
      >
        <LongField name="event" label="Event as JSON" rows={8} defaultValue={example} />
        <TextField
          name="user_agent"
          label="User agent of the browser"
          inputMode="text"
          is_optional
        />
      </Form>
      <div role="status">{outcome !== undefined && <Result outcome={outcome} rules={rules} />}</div>
    </>
  );
}

function Result({
  outcome: { outcome, event, changed_by, off_plan, problems },
  rules,
}: {
  outcome: Outcome;
  rules: IngestionRuleRow[];
}) {
  const [text, look] = words[outcome];
  const names = changed_by.map((id) => rules.find((rule) => rule.id === id)?.name ?? id);
  return (
    <>
      <p className={look}>{text}</p>
      {names.length > 0 && <p>Rules that apply: {names.join(', ')}</p>}
      {problems.map(({ attr, detail }) => (
        <p key={`${attr} ${detail}`}>
          <Coded text={detail} />
        </p>
      ))}
      {off_plan !== null && (
        <p className="warn">
          <Coded text={off_plan} />
        </p>
      )}
      {event !== null && <Command text={event} what="the event" />}
    </>
  );
}
