import type { CampaignOptions } from './campaign.ts';

export async function bugHunt(_: CampaignOptions): Promise<number> {
  return Promise.resolve(0);
}
