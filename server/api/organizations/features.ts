/** What this server can do, as organizations show it in `available_product_features`. An entry is added with the feature. */
export const available_product_features = [
  { key: 'organizations_projects', name: 'Several projects' },
  { key: 'data_pipelines', name: 'Batch exports' },
] as const;
