import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import type { IngestionRuleRow } from '../../server/api/ingestion_rules/schema.ts';
import { AsYaml } from '../configuration/as_yaml.tsx';
import { ManagedNote } from '../configuration/managed_note.tsx';
import { TypedForm } from '../form/typed_form.tsx';
import { etagOf, pathOf } from '../http/reading.ts';
import { Page } from '../page/page.tsx';
import { Section, useDone } from '../page/section.tsx';
import { NoSuch, Shown } from '../page/shown.tsx';
import { projectOf } from '../projects/project.ts';
import { OnlyFor } from '../signed_in/only_for.tsx';
import { ingestionRule, ingestionRules, rulePath } from './ingestion_rules.ts';
import { RuleForm } from './rule_form.tsx';

const route = getRouteApi('/signed_in/projects/$project_id/ingestion_rules/$rule_id');

/** One ingestion rule: its change and its deletion. */
export function RulePage() {
  const { project_id, rule_id } = route.useParams();
  const read = ingestionRule(project_id, rule_id);
  const query = useQuery(read);
  const project = useQuery(projectOf(project_id));
  const missing = (
    <NoSuch noun="ingestion rule">
      <Link to="/projects/$project_id/ingestion_rules" params={{ project_id }}>
        The ingestion rules of this project
      </Link>
    </NoSuch>
  );
  return (
    <Page title={query.data?.name ?? 'Ingestion rule'} request={pathOf(read)}>
      <Shown query={query} missing={missing}>
        {(rule) => (
          <Shown query={project}>
            {({ organization }) => (
              <>
                <ManagedNote by={rule.managed_by} />
                <AsYaml kind="ingestion_rule" id={rule.id} />
                <Section title="Rule">
                  <OnlyFor organization_id={organization} shows>
                    <Change rule={rule} project_id={project_id} />
                  </OnlyFor>
                </Section>
                <Section title="Deletion">
                  <OnlyFor organization_id={organization}>
                    <Delete rule={rule} project_id={project_id} />
                  </OnlyFor>
                </Section>
              </>
            )}
          </Shown>
        )}
      </Shown>
    </Page>
  );
}

type Given = { rule: IngestionRuleRow; project_id: string };

function Change({ rule, project_id }: Given) {
  const done = useDone();
  return (
    <RuleForm
      project_id={project_id}
      stored={rule}
      done={() =>
        done('The rule was saved. It applies to new events.', ingestionRule(project_id, rule.id))
      }
    />
  );
}

function Delete({ rule, project_id }: Given) {
  const queries = useQueryClient();
  const navigate = route.useNavigate();
  return (
    <TypedForm
      name={rule.name}
      text="New events are stored without this rule. Stored events stay as they are."
      path={rulePath(project_id, rule.id)}
      if_match={etagOf(rule)}
      done={async () => {
        await queries.invalidateQueries({ queryKey: ingestionRules(project_id).queryKey });
        await navigate({ to: '/projects/$project_id/ingestion_rules', params: { project_id } });
      }}
      button="Delete rule"
    />
  );
}
