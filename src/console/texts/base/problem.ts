export const theApplianceDoesNotAnswer = 'The appliance does not answer.';
