import { useContext, useEffect, useState } from 'react';
import { ActButton } from '../act_button.tsx';
import { exportPath, useExport } from '../export_context.ts';
import { useReadAnew } from '../read_anew.ts';
import { ZoneContext } from '../../time/instant.tsx';
import { now } from '../../time/now.ts';
import { exactly, seconds } from '../../time/words.ts';
import { pathTo } from '../../http/path.ts';

/** Says when the next attempt starts, to the second: `Next try at 22:29:23 (in 40 s).` */
export function NextTry({ at }: { at: string }) {
  const zone = useContext(ZoneContext);
  const [left, setLeft] = useState(() => secondsUntil(at));
  useEffect(() => {
    const timer = setInterval(() => setLeft(secondsUntil(at)), 1_000);
    return () => clearInterval(timer);
  }, [at]);
  if (left <= 0) return <>The next try starts as soon as a worker is free.</>;
  return (
    <>
      Next try at{' '}
      <time dateTime={at} title={exactly(at, zone)}>
        {seconds(at, zone).slice(11)}
      </time>{' '}
      (in {left} s).
    </>
  );
}

const secondsUntil = (at: string) => Math.ceil((Date.parse(at) - now()) / 1000);

const exported = '/api/projects/:project_id/batch_exports/';

/** Starts the next attempt of a run at once, or of all waiting runs of the export. */
export function TryNow({
  run_id,
  size = 'compact-sm',
  is_primary = false,
}: {
  run_id?: string;
  size?: 'compact-xs' | 'compact-sm';
  is_primary?: boolean;
}) {
  const { ids } = useExport();
  const readAnew = useReadAnew(exportPath(ids));
  const common = {
    label: 'Try now',
    size,
    is_primary,
    done: async () => {
      await readAnew();
      return 'The next try starts now.';
    },
  };
  if (run_id === undefined)
    return <ActButton path={pathTo(`${exported}:id/try_now/`, ids)} {...common} />;
  const of_run = { ...ids, id: run_id };
  return (
    <ActButton path={pathTo(`${exported}:batch_export_id/runs/:id/try_now/`, of_run)} {...common} />
  );
}
