import type { Route, Theme } from 'vitepress';
import default_theme from 'vitepress/theme-without-fonts';
import { search_options } from './search_options.ts';

/** Shows the list of tasks also on the page for a wrong address, where the generator hides it. */
function showTasks(route: Route): void {
  if (route.data.isNotFound === true)
    route.data = { ...route.data, title: 'Page not found', frontmatter: {} };
}

/**
 * The theme of the site, with the options of its search. Settings reach the page as JSON, which has
 * no functions, and the policy of the docs forbids code made from text.
 */
export const theme: Theme = {
  extends: default_theme,
  enhanceApp: ({ router, siteData }) => {
    router.onAfterRouteChange = () => showTasks(router.route);
    const { themeConfig } = siteData.value;
    const { search } = themeConfig;
    const options = { ...search.options, miniSearch: { searchOptions: search_options } };
    siteData.value = {
      ...siteData.value,
      themeConfig: { ...themeConfig, search: { ...search, options } },
    };
  },
};
