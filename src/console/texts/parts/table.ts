export const filterBy = (title: string | number) => `Filter by ${title}`;
export const filterByOfToLowerCase = (toLowerCase: string | number) => `Filter by ${toLowerCase}`;
export const orMore = ' or more';
export const nothingHereContains = (find: string | number) => `Nothing here contains “${find}”.`;
