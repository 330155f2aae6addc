import { Seldom } from '../page/section.tsx';
import { ChoiceField } from './fields.tsx';
import { Form } from './form.tsx';

/** A new key in the place of an old one, which goes on working for a while. */
export function RollForm<Key>({
  path,
  name,
  overlaps,
  usual_seconds,
  rolled,
}: {
  /** The path of the old key in the API. */
  path: string;
  /** What the old key is called. */
  name: string;
  /** How long the old key may go on to work: seconds with the words for them. */
  overlaps: [seconds: number, words: string][];
  usual_seconds: number;
  rolled: (created: Key) => unknown;
}) {
  return (
    <Seldom summary="Roll it">
      <Form<Key>
        path={`${path}roll/`}
        body={({ overlap_seconds }) => ({ overlap_seconds: Number(overlap_seconds) })}
        done={rolled}
        button="Roll"
        about={`the key ${name}`}
      >
        <ChoiceField
          name="overlap_seconds"
          label="The old key goes on to work"
          value={String(usual_seconds)}
          options={overlaps.map(([seconds, label]) => ({ value: String(seconds), label }))}
        />
      </Form>
    </Seldom>
  );
}
