export const theApplianceWorks = 'The appliance works …';
export const fields = 'Fields';
export const preview = 'Preview';
