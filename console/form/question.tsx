import { Button, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { Dialog } from '../page/dialog.tsx';

/** The question before an action that cannot be undone. */
export type Question = {
  /** The question, with the name and number of its objects. */
  title: string;
  /** The consequence. */
  text: ReactNode;
  /** Label of the button that continues. */
  button: string;
  /** Label of the button that changes nothing. */
  keep: string;
  /** The text to type first, for grave actions. */
  typed?: string;
};

/**
 * Asks a question in a modal dialog. The focus is where no accident can happen: in the field for
 * the typed text, or on the button that changes nothing.
 */
export function Asking({
  question: { title, text, button, keep, typed },
  answer,
}: {
  question: Question;
  answer: (is_yes: boolean) => void;
}) {
  const [written, setWritten] = useState('');
  const [is_wrong, setWrong] = useState(false);
  const goOn = () => {
    if (typed === undefined || written.trim() === typed.trim()) answer(true);
    else setWrong(true);
  };
  return (
    <Dialog title={title} close={() => answer(false)}>
      <p>{text}</p>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          goOn();
        }}
      >
        {typed !== undefined && (
          <TextInput
            label={
              <>
                To continue, type <strong className="typed">{typed}</strong>
              </>
            }
            value={written}
            error={
              is_wrong && (
                <>
                  Type “<span className="typed">{typed}</span>” exactly as it is written.
                </>
              )
            }
            mb="sm"
            autoComplete="off"
            spellCheck={false}
            onChange={({ currentTarget }) => {
              setWritten(currentTarget.value);
              setWrong(false);
            }}
          />
        )}
        <div className="answers">
          <Button onClick={() => answer(false)}>{keep}</Button>
          <Button type="submit" variant="filled" className="destroys">
            {button}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
