export const theDatasetIsNotMounted = (dataset: string | number) => `The dataset ${dataset} is not mounted.`;

/** What an entry of a folder is. */
export const folder = 'folder';
export const file = 'file';
export const link = 'link';
export const other = 'other';
