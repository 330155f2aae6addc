import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useContext, useState } from 'react';
import type { ReactNode } from 'react';
import type { Static } from 'typebox';
import type { NewNoticeTarget, NoticeTargetRow } from '../../server/api/notice_targets/schema.ts';
import { ChoiceField, ChoicesField, SecretField, TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { TyperContext, forgetKept, keep, keptName, readKept } from '../form/kept.ts';
import { pathTo } from '../http/path.ts';
import { instance } from '../page/around/instance.ts';
import { useDone } from '../page/section.tsx';
import { event_choices, nameOf, noticeTargets, type_names } from './notice_targets.ts';

/** A new target with its secret, which the API returns only once. */
export type Created = Static<typeof NewNoticeTarget>;
type Type = NoticeTargetRow['type'];

const url = (label: string) => <TextField name="url" label={label} inputMode="url" is_unkept />;

/** The instructions for the fields, and the fields of each kind. */
const kinds: Record<Type, { steps: string; fields: ReactNode }> = {
  slack: {
    steps:
      'In Slack, open your app, switch on "Incoming Webhooks", choose "Add New Webhook to ' +
      'Workspace" and a channel, and copy the address.',
    fields: url('Webhook URL'),
  },
  microsoft_teams: {
    steps:
      'In Teams, open the menu of the channel, choose "Workflows" and the template for alerts of ' +
      'a webhook, and copy the address.',
    fields: url('Workflow URL'),
  },
  pagerduty: {
    steps:
      'In PagerDuty, open the "Integrations" of your service, add "Events API V2", and copy the ' +
      'integration key. A recovery resolves its incident.',
    fields: (
      <>
        <SecretField name="secret" label="Integration key" />
        <ChoiceField
          name="url"
          label="Service region"
          options={[
            { value: 'https://events.pagerduty.com/v2/enqueue', label: 'United States' },
            { value: 'https://events.eu.pagerduty.com/v2/enqueue', label: 'Europe' },
          ]}
          value="https://events.pagerduty.com/v2/enqueue"
        />
      </>
    ),
  },
  email: {
    steps: 'Everybody who reads this address gets the notices.',
    fields: <TextField name="address" label="E-mail address" type="email" />,
  },
  webhook: {
    steps: 'Your program gets the notices as JSON, signed as Standard Webhooks describes.',
    fields: (
      <>
        {url('Address')}
        <SecretField
          name="secret"
          label="Secret"
          hint="whsec_ and 24 to 64 bytes in base64. If empty, the server creates one."
          is_optional
        />
      </>
    ),
  },
};

/**
 * Creates a target of one of the kinds. The chosen kind is stored with the typed values, so that a
 * reload shows both again.
 */
export function NewTarget({
  project_id,
  is_first,
  created,
}: {
  project_id: string;
  /** True if it ends the mails to administrators. */
  is_first: boolean;
  created: (target: Created) => void;
}) {
  const kept = keptName(useContext(TyperContext), `kind of target ${project_id}`);
  const [type, setType] = useState(() => readKept<{ type: Type }>(kept)?.type ?? 'slack');
  const choose = (chosen: Type) => {
    setType(chosen);
    keep(kept, { type: chosen });
  };
  const end = (target: Created) => {
    forgetKept(kept);
    created(target);
  };
  return (
    <>
      <div className="toolbar" role="group" aria-label="Kind of target">
        {Object.entries(type_names).map(([value, label]) => (
          <Button key={value} aria-pressed={type === value} onClick={() => choose(value as Type)}>
            {label}
          </Button>
        ))}
      </div>
      <TargetForm key={type} {...{ type, project_id, is_first }} created={end} />
    </>
  );
}

function TargetForm({
  type,
  project_id,
  is_first,
  created,
}: Parameters<typeof NewTarget>[0] & { type: Type }) {
  const done = useDone();
  const { data: server } = useQuery(instance);
  const { steps, fields } = kinds[type];
  return (
    <Form
      path={pathTo('/api/projects/:project_id/notice_targets/', { project_id })}
      body={({ name, address, url: to, secret, events }) => ({
        type,
        name,
        address,
        url: to,
        secret,
        events,
      })}
      done={async (target) => {
        await done(`${nameOf(target)} now gets notices.`, noticeTargets(project_id));
        created(target);
      }}
      button="Create target"
      part={type}
      clears
    >
      <p className="muted">{steps}</p>
      {type === 'email' && server?.sends_mail === false && (
        <p className="warn">
          This server has no mail relay: it sends no mails until its operator sets SLUICE_SMTP_URL.
        </p>
      )}
      {is_first && server?.sends_mail !== false && (
        <p className="muted">
          This is the first target. Only targets will get notices, and no longer every
          administrator.
        </p>
      )}
      {fields}
      <TextField
        name="name"
        label="Name (optional)"
        hint="What your team calls it, such as #data-alerts."
        is_optional
      />
      <ChoicesField
        name="events"
        label="Notify when"
        options={event_choices}
        chosen={event_choices.map(({ value }) => value)}
      />
    </Form>
  );
}
