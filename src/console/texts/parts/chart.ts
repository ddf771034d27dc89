export const nothingWasMeasuredInThisTime = 'Nothing was measured in this time yet.';
export const atMost = (title: string | number, latest: string | number, max: string | number) =>
  `${title}: ${latest}; at most ${max}`;
