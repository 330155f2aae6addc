import { Type } from 'typebox';
import type { TObject, TSchema } from 'typebox';
import type { DestinationDefinition } from '../../../engine/model/destination/destination.ts';
import { destinations } from '../../../engine/destinations/index.ts';
import { documentedConfig } from '../../destinations/schema.ts';

/**
 * Returns the schema of a body with every destination type and its keys, for the documentation
 * only: the checks of a destination are its own.
 */
export function withDestinations(body: TObject, title: string): TObject {
  const description =
    'One of the types, with the keys of this type. Keys marked as write-only are secret and ' +
    'never returned.';
  return Type.Object(
    {
      ...body.properties,
      destination: Type.Union(destinations.map(documentedDestination), {
        title: 'Destination',
        description,
      }),
    },
    { title },
  );
}

function documentedDestination(definition: DestinationDefinition): TSchema {
  const config = { ...documentedConfig(definition), title: `${definition.type}Config` };
  return Type.Object(
    { type: Type.Literal(definition.type), config },
    { title: `${definition.type}Destination`, description: definition.label },
  );
}
