export const filterBy = (title: string | number) => `Filter by ${title}`;
export const orMore = ' or more';
export const nothingHereContains = (find: string | number) => `Nothing here contains “${find}”.`;
