export const storage = 'Storage';
export const newPool = 'New pool';
export const draftNothingHasHappenedYet = 'Draft · nothing has happened yet';
