import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { pathOf } from '../http/reading.ts';
import { Page } from '../page/page.tsx';
import { catalogueProperties } from './catalogue.ts';
import { narrowedBy } from './narrowed_by.ts';
import { PropertyList } from './property_list.tsx';
import { Proposed } from './proposed.tsx';
import { CatalogueTabs } from './tabs.tsx';

const route = getRouteApi('/signed_in/projects/$project_id/event_catalogue/properties');

/** Shows the properties of all events of a project, with their types. */
export function PropertiesPage() {
  const { project_id } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const list = catalogueProperties(project_id, search);
  const query = useQuery({ ...list, placeholderData: (before) => before });
  return (
    <Page title="Event catalogue" part="Properties" request={pathOf(list)}>
      <CatalogueTabs project_id={project_id} />
      <Proposed project_id={project_id} />
      <PropertyList
        query={query}
        search={search}
        change={(changes) =>
          void navigate({ search: (before) => narrowedBy(before, changes), replace: true })
        }
        of="all events"
      />
    </Page>
  );
}
