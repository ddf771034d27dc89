export const step = (index: string | number, all: string | number) => `step ${index} of ${all}`;
