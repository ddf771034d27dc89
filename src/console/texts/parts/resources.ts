export const whatThereIs = 'what there is';
export const lists = 'Lists';
export const settings = 'Settings';
export const actions = 'Actions';
