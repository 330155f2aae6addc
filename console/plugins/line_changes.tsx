import type { PluginDifferences } from '../../server/api/plugins/schema.ts';
import { Seldom } from '../page/section.tsx';

/** The different lines in each file of two versions. */
export function LineChanges({
  changes: { line_changes },
}: {
  changes: Pick<PluginDifferences, 'line_changes'>;
}) {
  return line_changes.map(({ file, diff }) => (
    <Seldom key={file} summary={`Lines of ${file}`}>
      {diff === null || diff === '' ? (
        <p className="muted">
          {diff === '' ? 'It has none.' : 'It is too long, or has too many differences.'}
        </p>
      ) : (
        <pre className="source diff" tabIndex={0} role="region" aria-label={`Lines of ${file}`}>
          {diff
            .replace(/\n$/, '')
            .split('\n')
            .map((line, at) => (
              <span key={at} className={kinds[line.charAt(0)]}>
                {line}
                {'\n'}
              </span>
            ))}
        </pre>
      )}
    </Seldom>
  ));
}

const kinds: Record<string, string> = { '+': 'good', '-': 'bad', '@': 'muted', '\\': 'muted' };
