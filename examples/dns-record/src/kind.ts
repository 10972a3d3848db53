import { defineKind } from 'durable-operator';
import { z } from 'zod';

export const DnsRecord = defineKind({
  group: 'example.com',
  version: 'v1',
  kind: 'DnsRecord',
  description: 'A record of a DNS that assigns its IDs.',
  spec: z.object({
    hostname: z.string().min(1).meta({ description: 'Such as shop.example.com.' }),
    address: z.ipv4().meta({ description: 'Where it leads.' }),
  }),
  status: z.object({
    id: z.string().optional().meta({ description: 'As the DNS has assigned it.' }),
    writtenAt: z.iso.datetime().optional().meta({ description: 'When the record was written last.' }),
    isRemoved: z.boolean().optional().meta({ description: 'Whether that was its removal.' }),
  }),
});
