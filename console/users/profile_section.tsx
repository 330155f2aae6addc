import type { AccountRow } from '../../server/api/users/schema.ts';
import { TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { etagOf } from '../http/reading.ts';
import { Section, useDone } from '../page/section.tsx';
import { account } from '../signed_in/account.ts';
import { pathTo } from '../http/path.ts';

/** The name of the person. */
export function ProfileSection({ own }: { own: AccountRow }) {
  return (
    <Section title="Name">
      <NameForm own={own} />
    </Section>
  );
}

function NameForm({ own }: { own: AccountRow }) {
  const { first_name, last_name } = own;
  const done = useDone();
  return (
    <Form
      method="PATCH"
      path={pathTo('/api/users/@me/')}
      if_match={etagOf(own)}
      body={(values) => ({ first_name: values.first_name, last_name: values.last_name })}
      done={() => done('Your name was saved.', account)}
      button="Save the name"
    >
      <TextField
        name="first_name"
        label="First name"
        value={first_name}
        autoComplete="given-name"
      />
      <TextField name="last_name" label="Last name" value={last_name} autoComplete="family-name" />
    </Form>
  );
}
