import { api_keys } from '../api_keys/api_keys.ts';
import { Form } from '../form/form.tsx';
import { useDone } from '../page/section.tsx';
import { pathTo } from '../http/path.ts';

/** Creates a key that can only send events to this project. */
export function SendingKey({
  project_id,
  created,
}: {
  project_id: number;
  created: (key: string) => void;
}) {
  const done = useDone();
  return (
    <Form
      path={pathTo('/api/personal_api_keys/')}
      body={() => ({
        label: `Sends events to project ${project_id}`,
        scopes: ['event:write' as const],
        scoped_teams: [project_id],
      })}
      done={async ({ value }) => {
        if (value !== undefined) created(value);
        await done('The key is in the commands below. It is not shown again.', api_keys);
      }}
      button="Create a send-only key"
    />
  );
}
