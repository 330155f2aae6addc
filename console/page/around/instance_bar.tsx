import { useQuery } from '@tanstack/react-query';
import { instance } from './instance.ts';

/** Shows the name of the server above the page, so that staging is not mistaken for production. */
export function InstanceBar() {
  const { data } = useQuery(instance);
  if (data === undefined || data.name === null) return null;
  return (
    <p className={`instance ${data.colour}`}>
      <bdi>{data.name}</bdi>
    </p>
  );
}
