export const choose = (ofIt: string | number) => `Choose: ${ofIt}`;
export const chooseDots = 'Choose…';
