export const changeWasTakenBack = (number: string | number) => `Change ${number} was taken back.`;
