import { CopyButton } from './copy_button.tsx';

/** A terminal command with a copy button. */
export function Command({ text, what }: { text: string; what: string }) {
  return (
    <div className="command">
      <pre tabIndex={0} role="region" aria-label={what}>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} what={what} />
    </div>
  );
}
