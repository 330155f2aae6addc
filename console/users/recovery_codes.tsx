import { CopyButton } from '../page/copy_button.tsx';
import { Panel } from '../page/panel.tsx';

/** Recovery codes, which the API returns only once. */
export function RecoveryCodes({ codes }: { codes: string[] }) {
  return (
    <Panel>
      <h3>Your recovery codes</h3>
      <p>
        Each code works once, in place of a code of your app or a passkey. They are shown once. Keep
        them in your password manager.
      </p>
      <ol className="codes">
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ol>
      <CopyButton text={codes.join('\n')} what="the codes" />
    </Panel>
  );
}
