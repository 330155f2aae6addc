import type { UseQueryResult } from '@tanstack/react-query';
import type { Static } from 'typebox';
import type {
  CatalogueProperties,
  CatalogueProperty,
} from '../../server/api/event_catalogue/schema.ts';
import { Empty } from '../page/empty.tsx';
import { Pages } from '../page/tables/pages.tsx';
import { Rows } from '../page/tables/rows.tsx';
import type { Columns } from '../page/tables/rows.tsx';
import { Section } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { Instant } from '../time/instant.tsx';
import { property_orders } from './catalogue.ts';
import type { CatalogueSearch } from './catalogue.ts';
import { Narrowing } from './narrowing.tsx';
import { percent, typeWords } from './type_words.ts';

/** A table of properties with their types, with search, order and pages. */
export function PropertyList({
  query,
  search,
  change,
  of,
}: {
  query: UseQueryResult<Static<typeof CatalogueProperties>>;
  search: CatalogueSearch;
  change: (changes: CatalogueSearch) => void;
  /** The events in words: "this event", "all events". */
  of: string;
}) {
  return (
    <Section title="Properties" is_wide>
      <Shown query={query}>
        {({ count, results }) => (
          <>
            {(count > 0 || search.search !== undefined) && (
              <Narrowing search={search} orders={property_orders} change={change} />
            )}
            {count === 0 ? (
              <Nothing is_narrowed={search.search !== undefined} of={of} />
            ) : (
              <Rows rows={results} keyOf={({ property }) => property} columns={columns} />
            )}
            <Pages count={count} page={search.page ?? 1} go={(page) => change({ page })} />
          </>
        )}
      </Shown>
    </Section>
  );
}

function Nothing({ is_narrowed, of }: { is_narrowed: boolean; of: string }) {
  return is_narrowed ? (
    <Empty title="No properties match">Other properties have other names.</Empty>
  ) : (
    <Empty title="No properties yet">
      The properties of {of} are listed here with the types of their values, some seconds after the
      events came in. Values are not kept here.
    </Empty>
  );
}

const columns: Columns<CatalogueProperty> = {
  Property: ({ property }) => <bdi>{property}</bdi>,
  Types: (one) => (
    <span className="kinds">
      {typeWords(one).map(({ word, share: part }) => (
        <span key={word}>
          {word}
          {part !== undefined && <span className="muted"> {part}</span>}
        </span>
      ))}
    </span>
  ),
  Events: { number: ({ events }) => events.toLocaleString('en') },
  Share: { number: ({ share }) => percent(share) },
  'First seen': { short: ({ first_seen_at }) => <Instant at={first_seen_at} /> },
  'Last seen': { short: ({ last_seen_at }) => <Instant at={last_seen_at} /> },
};
