export const askingTheAppliance = 'Asking the appliance …';
