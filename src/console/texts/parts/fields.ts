export const required = ' · required';
export const none = 'none';
export const choose = 'choose …';
export const empty = '(empty)';
export const thereIsNothingToChooseFrom = 'There is nothing to choose from yet.';
export const onePerLine = 'one per line';
export const expectedJSONThisIsNotComplete = 'Expected JSON: this is not complete yet, and not sent.';
export const unchanged = 'unchanged';
