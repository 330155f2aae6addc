import { Seldom } from '../page/section.tsx';
import { ChoiceField } from './fields.tsx';
import { Form } from './form.tsx';
import type { Answer, Path, Route } from '../http/path.ts';

type RollRoute = Extract<Route<'POST'>, `${string}/roll/`>;

/** A form that rotates a key; the old one keeps working for a while. */
export function RollForm<To extends RollRoute>({
  path,
  name,
  overlaps,
  usual_seconds,
  rolled,
}: {
  path: Path<To>;
  /** Name of the old key. */
  name: string;
  /** Choices of the old key's remaining time: seconds and words. */
  overlaps: [seconds: number, words: string][];
  usual_seconds: number;
  rolled: (created: Answer<'POST', To>) => unknown;
}) {
  return (
    <Seldom summary="Rotate this key">
      <Form<RollRoute>
        path={path}
        body={({ overlap_seconds }) => ({ overlap_seconds: Number(overlap_seconds) })}
        done={(created) => rolled(created as Answer<'POST', To>)}
        button="Rotate key"
        about={`“${name}”`}
      >
        <ChoiceField
          name="overlap_seconds"
          label="The old key works"
          value={String(usual_seconds)}
          options={overlaps.map(([seconds, label]) => ({ value: String(seconds), label }))}
        />
      </Form>
    </Seldom>
  );
}
