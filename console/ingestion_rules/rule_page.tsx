import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { ingestionRule, ingestionRules, rulePath } from './ingestion_rules.ts';
import { RecordPage } from './record_page.tsx';
import { RuleForm } from './rule_form.tsx';

const route = getRouteApi('/signed_in/projects/$project_id/ingestion_rules/$rule_id');
const list = '/projects/$project_id/ingestion_rules';

/** One ingestion rule. */
export function RulePage() {
  const { project_id, rule_id } = route.useParams();
  const navigate = route.useNavigate();
  return (
    <RecordPage
      project_id={project_id}
      path={rulePath(project_id, rule_id)}
      query={useQuery(ingestionRule(project_id, rule_id))}
      kind="ingestion_rule"
      noun="ingestion rule"
      heading="Rule"
      nameOf={({ name }) => name}
      list={ingestionRules(project_id)}
      link={
        <Link to={list} params={{ project_id }}>
          The ingestion rules of this project
        </Link>
      }
      saved="The rule was saved. It applies to new events."
      loss="New events are stored without this rule. Stored events stay as they are."
      button="Delete rule"
      leave={() => navigate({ to: list, params: { project_id } })}
    >
      {(rule, done) => <RuleForm project_id={project_id} stored={rule} done={done} />}
    </RecordPage>
  );
}
