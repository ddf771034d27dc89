export const whatElseCanBeDone = 'What else can be done';
