import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import type { IngestionRuleRow } from '../../server/api/ingestion_rules/schema.ts';
import { ManagedMark } from '../configuration/managed_mark.tsx';
import { BoxField, isTicked } from '../form/box_field.tsx';
import { Form } from '../form/form.tsx';
import { pathTo } from '../http/path.ts';
import { etagOf, pathOf } from '../http/reading.ts';
import { Coded } from '../page/text/coded.tsx';
import { Empty } from '../page/empty.tsx';
import { Page } from '../page/page.tsx';
import { counted } from '../page/text/quantities.ts';
import { Rows } from '../page/tables/rows.tsx';
import { Section, useDone } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { projectOf } from '../projects/project.ts';
import { OnlyFor, useIsAdministrator } from '../signed_in/only_for.tsx';
import type { ProjectRow } from '../../server/api/projects/schema.ts';
import { ingestionRules, ruleCounts } from './ingestion_rules.ts';
import { RuleForm } from './rule_form.tsx';
import { countWords, eventWords, eventsBySource, movedUp, ruleWords } from './rule_words.ts';
import { TrySection } from './try_section.tsx';

const route = getRouteApi('/signed_in/projects/$project_id/ingestion_rules');

/** Shows the ingestion rules with their counts, and a form to try them. */
export function RulesPage() {
  const { project_id } = route.useParams();
  const read = ingestionRules(project_id);
  const rules = useQuery(read);
  const project = useQuery(projectOf(project_id));
  return (
    <Page title="Ingestion rules" request={pathOf(read)}>
      <Shown query={project}>
        {(shown) => (
          <>
            <Section title="Rules in order" is_wide>
              <Shown query={rules}>
                {({ results }) => <RuleList rules={results} project={shown} />}
              </Shown>
            </Section>
            <Section title="New rule">
              <OnlyFor organization_id={shown.organization}>
                <NewRule project_id={project_id} />
              </OnlyFor>
            </Section>
            <Section title="Try the rules">
              <OnlyFor organization_id={shown.organization} what="can try rules">
                <TrySection project_id={project_id} rules={rules.data?.results ?? []} />
              </OnlyFor>
            </Section>
            <Section title="Browser, system and device">
              <OnlyFor organization_id={shown.organization} shows>
                <DeviceForm key={shown.id} project={shown} />
              </OnlyFor>
            </Section>
          </>
        )}
      </Shown>
    </Page>
  );
}

function RuleList({ rules, project }: { rules: IngestionRuleRow[]; project: ProjectRow }) {
  const project_id = String(project.id);
  const may_change = useIsAdministrator(project.organization);
  const counts = useQuery(ruleCounts(project_id));
  if (rules.length === 0)
    return (
      <Empty title="No ingestion rules yet">
        A rule drops, hashes, renames or sets a property before Sluice stores the event.
      </Empty>
    );
  const by_source = eventsBySource(counts.data?.results ?? []);
  const ids = rules.map(({ id }) => id);
  return (
    <Rows
      rows={rules}
      keyOf={({ id }) => id}
      columns={{
        Rule: ({ id, name, managed_by }) => (
          <>
            <ManagedMark by={managed_by} />
            <Link
              to="/projects/$project_id/ingestion_rules/$rule_id"
              params={{ project_id, rule_id: id }}
            >
              {name}
            </Link>
          </>
        ),
        Events: ({ events }) => <span title={events.join(', ')}>{eventWords(events)}</span>,
        Action: (rule) => <Coded text={ruleWords(rule)} />,
        'Last 24 hours': ({ id, action, enabled }) =>
          enabled ? countWords(action, by_source.get(id) ?? 0) : 'Disabled',
        Order: ({ id, name }) =>
          may_change &&
          id !== ids[0] && (
            <MoveUp project_id={project_id} ids={movedUp(ids, ids.indexOf(id))} name={name} />
          ),
      }}
    />
  );
}

function MoveUp({ project_id, ids, name }: { project_id: string; ids: string[]; name: string }) {
  const done = useDone();
  return (
    <Form
      path={pathTo('/api/projects/:project_id/ingestion_rules/order/', { project_id })}
      part={name}
      body={() => ({ ids })}
      done={() => done('The order was saved.', ingestionRules(project_id))}
      button="Move up"
      about={name}
      tone="plain"
    />
  );
}

function NewRule({ project_id }: { project_id: string }) {
  const done = useDone();
  return (
    <RuleForm
      project_id={project_id}
      done={() =>
        done('The rule was created. It applies to new events.', ingestionRules(project_id))
      }
    />
  );
}

function DeviceForm({ project }: { project: ProjectRow }) {
  const project_id = String(project.id);
  const done = useDone();
  const counts = useQuery(ruleCounts(project_id)).data?.results ?? [];
  const filled = eventsBySource(counts).get('user_agent') ?? 0;
  return (
    <Form
      method="PATCH"
      path={pathTo('/api/projects/:id/', { id: project.id })}
      part="device"
      if_match={etagOf(project)}
      body={(values) => ({
        fill_device_properties: isTicked(values, 'fill_device_properties'),
      })}
      done={() => done('It applies to new events.', projectOf(project_id))}
      button="Save"
    >
      <BoxField
        name="fill_device_properties"
        label="Fill them from the user agent if the SDK sent none"
        hint="Sets $browser, $browser_version, $os, $os_version and $device_type."
        is_on={project.fill_device_properties}
      />
      {project.fill_device_properties && (
        <p className="muted">{counted(filled, 'event')} filled in the last 24 hours.</p>
      )}
    </Form>
  );
}
