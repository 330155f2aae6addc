import { Link, getRouteApi } from '@tanstack/react-router';
import { Form } from '../form/form.tsx';
import { PlainPage } from '../page/page.tsx';
import { useTakenToken } from './taken_token.ts';
import { useEnter } from './enter.ts';
import { pathTo } from '../http/path.ts';

const route = getRouteApi('/login/link');

/**
 * The page behind a link from the terminal. Opening it does nothing, because virus scanners open
 * links too; its button signs in.
 */
export function LinkPage() {
  const navigate = route.useNavigate();
  const token = useTakenToken(route.useSearch().token, () =>
    navigate({ search: {}, replace: true }),
  );
  const enter = useEnter();
  return (
    <PlainPage title="Sign in">
      {token === undefined ? (
        <p>Open the link of the terminal again. It works once, within 15 minutes.</p>
      ) : (
        <>
          <p>This link signs you in. It works once.</p>
          <Form
            path={pathTo('/api/single_sign_on/link/')}
            body={() => ({ token })}
            done={() => enter()}
            button="Sign in"
          />
        </>
      )}
      <p className="after_form">
        <Link to="/login">Sign in another way</Link>
      </p>
    </PlainPage>
  );
}
